-- Messages, tool calls and conversations.
ALTER TABLE questions ADD COLUMN IF NOT EXISTS messages JSON;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS tools JSON;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS expected_tool_calls JSON;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS user_goal VARCHAR;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS role_description VARCHAR;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS topics VARCHAR[];
ALTER TABLE questions ADD COLUMN IF NOT EXISTS conversation_id VARCHAR;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS turn INTEGER;
ALTER TABLE questions ADD COLUMN IF NOT EXISTS user_messages VARCHAR[];
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS history JSON;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS messages JSON;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS tokens_in BIGINT;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS tokens_out BIGINT;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS started_at DOUBLE;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS ended_at DOUBLE;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS trace_id VARCHAR;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS error_kind VARCHAR;
ALTER TABLE predictions ADD COLUMN IF NOT EXISTS reported JSON;
-- Files with such fields, until now in `extra`, are read again.
DELETE FROM marks WHERE stage = 'questions' AND benchmark IN (
    SELECT benchmark FROM questions WHERE list_has_any(json_keys(extra), [
        'messages', 'tools', 'expected_tool_calls', 'user_goal', 'role_description', 'topics',
        'conversation_id', 'turn', 'user_messages'
    ])
);
DELETE FROM marks WHERE stage = 'predictions' AND benchmark IN (
    SELECT benchmark FROM predictions WHERE list_has_any(json_keys(extra), [
        'history', 'messages', 'tokens_in', 'tokens_out', 'started_at', 'ended_at', 'trace_id',
        'error_kind', 'reported'
    ])
);
DELETE FROM meta WHERE starts_with(name, 'pieces of predictions of ') AND NOT EXISTS (
    FROM marks WHERE stage = 'predictions' AND name = 'pieces of predictions of ' || benchmark
);
