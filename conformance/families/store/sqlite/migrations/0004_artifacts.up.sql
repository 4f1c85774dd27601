-- What the assistant generates (tools.md 6.1). SQLite has no enum: the kinds
-- are checked by the program, and the column is as wide as S4 says.
CREATE TABLE artifacts (
    id               TEXT        PRIMARY KEY NOT NULL,
    thread_id        TEXT        NOT NULL,
    artifact_type    VARCHAR(30) NOT NULL CHECK (length(artifact_type) BETWEEN 1 AND 30),
    title            TEXT        NOT NULL,
    content_markdown TEXT        NOT NULL,
    created_at       TEXT        NOT NULL
);
CREATE INDEX idx_artifacts_thread ON artifacts (thread_id);
