-- hook_key: what addresses and secrets of webhooks are derived from. Each webhook says in its status which key of the service is its own, so a
-- key that signs no more keeps this part and loses its private half, the first key too. The service fills it in at its next start.
-- A webhook that says nothing of a key belongs to the first one.
alter table service_keys add column hook_key text not null default '';
