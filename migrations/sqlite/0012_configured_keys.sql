-- Keys that come from the settings of a host (AUTH-16).  Their row is a record (which key, last in
-- which tenant, revoked or not), not a credential: a host accepts such a key only while it is
-- configured there.  Older versions kept them as lasting credentials; their ids begin with "cfg".
ALTER TABLE api_keys ADD COLUMN configured INTEGER NOT NULL DEFAULT 0;
UPDATE api_keys SET configured = 1 WHERE substr(key_id, 1, 3) = 'cfg';
