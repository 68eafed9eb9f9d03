-- What filters could see of an object before its change: a filtered watch tells that an object no longer fits, also to a client that resumes.
-- null: not known, as of events of older replicas. false: there was no object.
alter table events add column was jsonb;
