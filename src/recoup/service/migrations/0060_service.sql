-- The service: keys with a role, sessions, answers of requests that are repeated, rates, and calls that were denied.
-- No secret is in these tables: a key, a session and a link are stored as the SHA-256 of 256 random bits.

create table recoup.api_key (
  key_id      uuid primary key default recoup.new_id(),
  name        text not null check (name ~ '^[[:print:]]+$' and octet_length(name) between 1 and 100),
  role        text not null check (role in ('viewer', 'producer', 'operator', 'reviewer', 'admin')),
  hub         text check (octet_length(hub) between 1 and 60),
  prefix      text not null unique check (prefix ~ '^[a-z2-7]{8}$'),
  secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
  replaces    uuid unique references recoup.api_key (key_id),
  created_by  text not null,
  created_at  timestamptz not null default recoup.now() check (isfinite(created_at)),
  expires_at  timestamptz check (isfinite(expires_at)),
  replaced_at timestamptz check (isfinite(replaced_at)),
  status      text not null default 'active' check (status in ('active', 'revoked')),
  ended_at    timestamptz check (isfinite(ended_at)),
  constraint api_key_ended check ((status = 'revoked') = (ended_at is not null)),
  constraint api_key_expires check (expires_at > created_at),
  constraint api_key_replaced check (replaced_at is null or expires_at is not null),
  -- An admin makes keys of every hub, and a hub's own key could make itself more.
  constraint api_key_scoped check (hub is null or role <> 'admin')
);
-- This prevents two people behind one name: a name has one key, and the one that it replaced while that is valid.
create unique index api_key_name on recoup.api_key (name) where status = 'active' and replaced_at is null;
comment on table recoup.api_key is
'Keys of the API: who calls, in which role, for which hub. Never deleted: events name the key''s owner.';
comment on column recoup.api_key.key_id is 'Identity.';
comment on column recoup.api_key.name is 'Who acts with it, as events name them.';
comment on column recoup.api_key.role is 'viewer, producer, operator, reviewer or admin: which authorities it may use.';
comment on column recoup.api_key.hub is 'The hub of the policy whose rows it sees; null: every row.';
comment on column recoup.api_key.prefix is 'How the key begins. It finds the row, and is no secret.';
comment on column recoup.api_key.secret_hash is 'SHA-256 of the whole key, which has 256 random bits.';
comment on column recoup.api_key.replaces is 'The key that was rotated into this one.';
comment on column recoup.api_key.created_by is 'Who made it.';
comment on column recoup.api_key.created_at is 'When it was made.';
comment on column recoup.api_key.expires_at is 'Until when it is valid; null: until it is revoked.';
comment on column recoup.api_key.replaced_at is 'When it was rotated; null: it was not.';
comment on column recoup.api_key.status is 'active or revoked.';
comment on column recoup.api_key.ended_at is 'When it was revoked; null: it is active.';

create table recoup.api_key_use (
  key_id       uuid primary key references recoup.api_key (key_id),
  last_used_at timestamptz not null check (isfinite(last_used_at))
) with (fillfactor = 50);
comment on table recoup.api_key_use is 'When each key was used last, to the minute.';
comment on column recoup.api_key_use.key_id is 'The key.';
comment on column recoup.api_key_use.last_used_at is 'When; written once a minute at most.';

create table recoup.session (
  session_id uuid primary key default recoup.new_id(),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  key_id     uuid references recoup.api_key (key_id),
  name       text not null check (octet_length(name) between 1 and 200),
  role       text not null check (role in ('viewer', 'producer', 'operator', 'reviewer', 'admin', 'local')),
  hub        text,
  is_link    boolean not null,
  created_at timestamptz not null default recoup.now() check (isfinite(created_at)),
  expires_at timestamptz not null check (isfinite(expires_at)),
  constraint session_of check ((key_id is null) = (role = 'local'))
);
create index session_key on recoup.session (key_id);
create index session_expires on recoup.session (expires_at);
comment on table recoup.session is 'Sessions of a browser, and the links that become one. Deleted when they end.';
comment on column recoup.session.session_id is 'Identity.';
comment on column recoup.session.token_hash is 'SHA-256 of the token in the cookie or the link.';
comment on column recoup.session.key_id is 'The key that it was opened with; null: the person who started the service.';
comment on column recoup.session.name is 'Who acts in it, as events name them.';
comment on column recoup.session.role is 'The role of the key; local: of the person who started the service.';
comment on column recoup.session.hub is 'The hub of the key; null: every row.';
comment on column recoup.session.is_link is 'Whether it is a link that was not used yet.';
comment on column recoup.session.created_at is 'When it was opened.';
comment on column recoup.session.expires_at is 'When it ends by itself.';

-- Four slots, of which each holds every fourth day: a day is dropped by emptying its slot, which leaves no dead rows.
create table recoup.idempotency (
  slot       smallint not null,
  principal  text not null check (octet_length(principal) between 1 and 200),
  key        text not null check (octet_length(key) between 1 and 255),
  method     text not null check (octet_length(method) between 1 and 10),
  path       text not null check (octet_length(path) between 1 and 2000),
  digest     bytea not null check (octet_length(digest) = 32),
  created_at timestamptz not null default recoup.now() check (isfinite(created_at)),
  status     smallint check (status between 200 and 499),
  answer     text check (octet_length(answer) <= 1000000),
  about      text check (octet_length(about) <= 200),
  primary key (principal, key, slot)
) partition by list (slot);
create table recoup.idempotency_0 partition of recoup.idempotency for values in (0);
create table recoup.idempotency_1 partition of recoup.idempotency for values in (1);
create table recoup.idempotency_2 partition of recoup.idempotency for values in (2);
create table recoup.idempotency_3 partition of recoup.idempotency for values in (3);
comment on table recoup.idempotency is
'Requests with an idempotency key and what they were answered, for a day: the same request gets the same answer.';
comment on table recoup.idempotency_0 is 'Every fourth day.';
comment on table recoup.idempotency_1 is 'Every fourth day.';
comment on table recoup.idempotency_2 is 'Every fourth day.';
comment on table recoup.idempotency_3 is 'Every fourth day.';
comment on column recoup.idempotency.slot is 'The day, modulo four.';
comment on column recoup.idempotency.principal is 'Who sent it: role and name.';
comment on column recoup.idempotency.key is 'The key, as it was sent.';
comment on column recoup.idempotency.method is 'The method of the request.';
comment on column recoup.idempotency.path is 'Its path.';
comment on column recoup.idempotency.digest is 'SHA-256 of its body.';
comment on column recoup.idempotency.created_at is 'When it was received.';
comment on column recoup.idempotency.status is 'What it was answered with.';
comment on column recoup.idempotency.answer is 'The body of the answer; null: it has a secret, or is too long.';
comment on column recoup.idempotency.about is 'The id of what it made, for an answer that is not kept.';

create table recoup.rate_bucket (
  principal   text primary key check (octet_length(principal) between 1 and 200),
  tokens      double precision not null check (tokens between 0 and 1e9),
  refilled_at timestamptz not null check (isfinite(refilled_at))
) with (fillfactor = 50);
comment on table recoup.rate_bucket is
'How many requests each caller may send now. Processes take a second''s worth at a time.';
comment on column recoup.rate_bucket.principal is 'Who: role and name.';
comment on column recoup.rate_bucket.tokens is 'Requests that are left, when it was refilled last.';
comment on column recoup.rate_bucket.refilled_at is 'When that was, by the server''s clock.';

create table recoup.denied_call (
  minute     timestamptz not null check (isfinite(minute)),
  address    text not null check (octet_length(address) between 1 and 60),
  key_prefix text not null check (octet_length(key_prefix) <= 8),
  refusal    text not null check (octet_length(refusal) between 1 and 60),
  calls      bigint not null check (calls > 0),
  primary key (minute, address, key_prefix, refusal)
) with (fillfactor = 70);
comment on table recoup.denied_call is
'Calls that were denied, counted by minute. A minute has a limited number of rows; what is beyond is counted in one.';
comment on column recoup.denied_call.minute is 'The minute.';
comment on column recoup.denied_call.address is 'The network that they came from, shortened; *: many.';
comment on column recoup.denied_call.key_prefix is 'How the key began, if there is such a key; empty: there is none.';
comment on column recoup.denied_call.refusal is 'Why they were denied.';
comment on column recoup.denied_call.calls is 'How many.';

grant select on recoup.api_key, recoup.api_key_use, recoup.session, recoup.rate_bucket, recoup.denied_call
  to recoup_reader;
-- Not the answers: they are for whoever sent the request.
grant select (slot, principal, key, method, path, digest, created_at, status, about) on recoup.idempotency
  to recoup_reader;
grant insert (name, role, hub, prefix, secret_hash, replaces, created_by, expires_at)
  on recoup.api_key to recoup_key_manager;
grant update (status, ended_at, expires_at, replaced_at) on recoup.api_key to recoup_key_manager;
grant insert, update on recoup.api_key_use, recoup.rate_bucket, recoup.denied_call to recoup_service;
grant delete on recoup.denied_call to recoup_service;
grant insert (token_hash, key_id, name, role, hub, is_link, expires_at), delete on recoup.session to recoup_service;
