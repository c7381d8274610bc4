-- The language of a person, in which mails and notifications reach them: `en` or `de`. Null until they have chosen one.

alter table users add column language text;
