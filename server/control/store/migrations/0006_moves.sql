-- An object can be replaced while others refer to it, and can move to another agent.
-- released: a delete asked for a replacement: the next creation under this id takes the object's place, and its references.
alter table objects add column released boolean not null default false;
-- heir: the uid of the object that took this one's place at another agent. Such a tombstone has no object of its own.
alter table deliveries add column heir text;
create index deliveries_heir on deliveries (account, heir) where heir is not null;
