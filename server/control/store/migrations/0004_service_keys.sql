-- The service's signing key can be replaced. number: 0 is the first, which all that is derived comes from; the greatest is the one that
-- signs. statement: the signature of the key before over this one. A key that has a successor, but for the first, keeps no private half.
alter table service_keys add column number integer not null default 0;
alter table service_keys add column statement text not null default '';
create unique index service_keys_number on service_keys (account, number);
