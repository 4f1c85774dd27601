-- What the assistant generates (tools.md 6.1), with the native enum S4 speaks of.
CREATE TYPE artifacttype AS ENUM ('user_stories', 'acceptance_criteria', 'requirements_doc', 'brd');
CREATE TABLE artifacts (
    id               UUID         PRIMARY KEY,
    thread_id        TEXT         NOT NULL,
    artifact_type    artifacttype NOT NULL,
    title            TEXT         NOT NULL,
    content_markdown TEXT         NOT NULL,
    created_at       TIMESTAMPTZ  NOT NULL
);
CREATE INDEX idx_artifacts_thread ON artifacts (thread_id);
