-- Domains declare themselves: what they have is data, written by `recoup migrate`, and read by whatever enforces it.

create table recoup.domain (
  name           text primary key,
  epoch          integer not null check (epoch > 0),
  release        integer not null check (release > 0),
  digest         text not null,
  recoup_version text not null,
  applied_at     timestamptz not null,
  applied_by     text not null
);
comment on table recoup.domain is
'The domains in this database, and at which release each is. Programs of the same epoch work with it.';
comment on column recoup.domain.name is 'Name of the domain.';
comment on column recoup.domain.epoch is 'A program of another epoch does not work with it, however new.';
comment on column recoup.domain.release is
'Rises with every change. An older program of the same epoch works on, and never puts its own back.';
comment on column recoup.domain.digest is 'SHA-256 over routines and declaration.';
comment on column recoup.domain.recoup_version is 'The program that applied it.';
comment on column recoup.domain.applied_at is 'When, by the server''s clock.';
comment on column recoup.domain.applied_by is 'The login that applied it.';

drop trigger if exists a_only_migrations on recoup.lifecycle;
drop trigger if exists a_only_migrations on recoup.lifecycle_step;
delete from recoup.lifecycle_step;
delete from recoup.lifecycle;
alter table recoup.lifecycle add column domain text not null references recoup.domain;
alter table recoup.lifecycle_step add column domain text not null references recoup.domain;
comment on column recoup.lifecycle.domain is 'The domain that declares it.';
comment on column recoup.lifecycle_step.domain is 'The domain that declares it.';

create table recoup.follower (
  domain    text not null references recoup.domain,
  subject   text not null references recoup.lifecycle,
  event     text not null check (event in ('insert', 'update', 'delete')),
  place     text not null check (place in ('b', 'c', 'd')),
  function  text not null,
  arguments text[] not null,
  primary key (subject, event, function)
);
comment on table recoup.follower is
'What runs behind the guard of each table: rules, recorders, consequences. Its triggers are made from here.';
comment on column recoup.follower.domain is 'The domain that declares it.';
comment on column recoup.follower.subject is 'The guarded table.';
comment on column recoup.follower.event is 'Behind which statements it runs.';
comment on column recoup.follower.place is 'b: a rule; c: a recorder; d: a consequence. In this order.';
comment on column recoup.follower.function is 'Schema and name of the function.';
comment on column recoup.follower.arguments is 'What its trigger gives it.';

create table recoup.log (
  domain    text not null references recoup.domain,
  log       text primary key,
  at        text not null,
  canon     integer not null check (canon >= 0),
  recorders text[] not null,
  keeper    text
);
comment on table recoup.log is 'Every append-only table: who writes it, and how its rows are sealed.';
comment on column recoup.log.domain is 'The domain that declares it.';
comment on column recoup.log.log is 'Schema and name of the table.';
comment on column recoup.log.at is 'The column that says when.';
comment on column recoup.log.canon is
'Newest version of its canonical text (recoup.canon_<name>_<version>); 0: it is not sealed.';
comment on column recoup.log.recorders is 'Functions that alone may write it; empty: see keeper.';
comment on column recoup.log.keeper is
'The trigger function that looks at every insert; null: whoever holds the right may write.';

create table recoup.pausable (
  domain text not null references recoup.domain,
  scope  text not null,
  name   text,
  names  text,
  unique nulls not distinct (scope, name, names),
  check (num_nonnulls(name, names) = 1)
);
comment on table recoup.pausable is 'What can be paused: by name, or by a query that finds the names.';
comment on column recoup.pausable.domain is 'The domain that declares it.';
comment on column recoup.pausable.scope is 'Its kind: global, duty, table, and what domains add.';
comment on column recoup.pausable.name is 'Its name.';
comment on column recoup.pausable.names is 'A query for the names, where they are rows.';

create table recoup.policy_bound (
  domain text not null references recoup.domain,
  path   text[] primary key,
  least  integer not null,
  most   integer not null
);
comment on table recoup.policy_bound is 'Values of the policy that the database itself decides by, and their bounds.';
comment on column recoup.policy_bound.domain is 'The domain that declares it.';
comment on column recoup.policy_bound.path is 'Where the value stands in the document.';
comment on column recoup.policy_bound.least is 'The lowest value.';
comment on column recoup.policy_bound.most is 'The highest value.';

grant select on recoup.domain, recoup.follower, recoup.log, recoup.pausable, recoup.policy_bound to recoup_reader;

-- Which kinds of things can be paused is data now.
alter table recoup.pause drop constraint pause_scope_check;
alter table recoup.pause_log drop constraint pause_log_scope_check;
comment on column recoup.pause.scope is 'The kind of thing: global, duty, table, or what a domain declares.';

-- Operations over many are every domain's.
alter table recoup.error_operation rename to operation;
alter table recoup.error_operation_item rename to operation_item;
alter index recoup.error_operation_pkey rename to operation_pkey;
alter index recoup.error_operation_open rename to operation_open;
alter index recoup.error_operation_item_pkey rename to operation_item_pkey;
alter index recoup.error_operation_item_pending rename to operation_item_pending;
do $$
declare
  held record;
begin
  for held in select k.conrelid::regclass as table_, k.conname from pg_constraint k
               where k.conrelid in ('recoup.operation'::regclass, 'recoup.operation_item'::regclass)
                 and k.conname like 'error\_operation%' loop
    execute format('alter table %s rename constraint %I to %I', held.table_, held.conname, substr(held.conname, 7));
  end loop;
end $$;
alter table recoup.operation drop constraint operation_verb_check;
alter table recoup.operation add column subject text not null default 'recoup.error';
alter table recoup.operation alter column subject drop default;
alter table recoup.operation add constraint operation_verb_check check (verb ~ '^[a-z][a-z-]*$');
alter table recoup.operation add column digest bytea;
alter table recoup.operation_item add column unit text;
alter table recoup.operation disable trigger user;
alter table recoup.operation_item disable trigger user;
update recoup.operation_item set unit = error_table || '/' || error_id;
update recoup.operation o set digest = (
  select sha256(coalesce(string_agg(convert_to(i.unit || E'\n', 'UTF8'), '' order by i.place), ''))
    from recoup.operation_item i where i.operation_id = o.operation_id);
alter table recoup.operation enable trigger user;
alter table recoup.operation_item enable trigger user;
alter table recoup.operation_item drop column error_table, drop column error_id;
alter table recoup.operation_item alter column unit set not null;
alter table recoup.operation alter column digest set not null;
alter table recoup.operation_item add constraint operation_item_operation_id_unit_key unique (operation_id, unit);
comment on table recoup.operation is
'One decision of an operator over many rows of a domain. What it is about is frozen when it begins.';
comment on column recoup.operation.subject is 'The guarded table whose rows it is about.';
comment on column recoup.operation.verb is 'What is done to each.';
comment on column recoup.operation.arguments is 'How: the verb''s arguments.';
comment on column recoup.operation.filter is 'Which rows were asked for.';
comment on column recoup.operation.items is 'How many they were.';
comment on column recoup.operation.digest is 'SHA-256 over the units in their order, each with a line break.';
comment on column recoup.operation.requested_at is 'When it began.';
comment on column recoup.operation.requested_by is 'Who began it.';
comment on table recoup.operation_item is 'One row of an operation over many, and what became of it.';
comment on column recoup.operation_item.unit is 'The row, by the name that people use: id, or table and id.';
grant insert (subject, digest) on recoup.operation to recoup_operator;
grant insert (unit) on recoup.operation_item to recoup_operator;

-- Rules on times are every domain's, too.
drop function if exists cl.rule_times() cascade;
drop function if exists cl.is_now(timestamptz, timestamptz, timestamptz);
drop function if exists cl.never();
drop function if exists recoup.pausable_tables();
drop procedure if exists recoup.guard_table(regclass, text);
drop procedure if exists recoup.follow(regclass, text, text, regproc, text[]);
drop procedure if exists recoup.close_log(regclass, text[]);
drop procedure if exists recoup.equip_error_table(regclass);
drop procedure if exists recoup.equip_archive(regclass);
drop function if exists recoup.hold_open_errors(
  integer[], uuid[], text[], integer[], text[], text[], jsonb, timestamptz);

-- Routines have other names now, and are all applied anew.
delete from recoup.routine;
