-- changes: what a write made different in a specification, as [{path, before, after}]. Null in lines of the version before, and where nothing changed.
alter table audit add column changes jsonb;
