-- Whether the session ended because its refresh token was used twice, so that the browser it belongs to clears its data.
alter table sessions add column token_reused boolean not null default false;
