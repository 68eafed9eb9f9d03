-- When an agent is to tell everything once more. freed: places that were given up since it was asked. forgotten: the service gave up an object
-- that stays in the cluster. asked_at keeps it from being asked all the time.
alter table discoveries add column freed integer not null default 0;
alter table discoveries add column forgotten boolean not null default false;
alter table discoveries add column asked_at timestamptz;
