-- Run once by the image of PostgreSQL, on a new volume: the service gets a role that owns its database and nothing else.
-- The superuser keeps no password, so that only programs inside this container can log in as it.
\getenv password POSTGRES_PASSWORD
create role rapport login password :'password';
alter database rapport owner to rapport;
alter role current_user password null;
