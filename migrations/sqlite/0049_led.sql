-- Runs that show a session of an agent: led by the session, the engine executes nothing of them.  Until now that was read
-- off the transport, which only sessions set to "mcp".
ALTER TABLE run_origins ADD COLUMN led INTEGER NOT NULL DEFAULT 0 CHECK (led IN (0, 1));
UPDATE run_origins SET led = 1 WHERE transport = 'mcp';
