-- lineage: the key that a key descends from, by the name it has in the audit trail. A key made by another one has its lineage, so that approvals
-- by keys which one person made count as one. Null: the key is the first of its lineage. `operator`: the account's first key; each key that it
-- makes begins a lineage. Who made the keys that are there already is not known: each of them begins its own.
alter table api_keys add column lineage text;
update api_keys set lineage = 'operator' where org = '' and project = '' and id = 'admin' and role = 'admin';
-- requested_lineage: the lineage of the key that started the run. Null in runs of the version before: the key's own name.
alter table runs add column requested_lineage text;
