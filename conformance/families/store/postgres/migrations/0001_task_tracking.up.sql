-- The queue of the Task Tracking service: the columns and indexes of S0, with
-- TIMESTAMPTZ and separate CREATE INDEX (tools.md 2.9, C-47).
-- task_number orders the queue (TASK-1000 sorts before TASK-999 as text);
-- correlation_id is the caller's task_id (C-17); worker is who took the task.
CREATE TABLE tasks (
    task_id          VARCHAR(20)  PRIMARY KEY,
    task_number      BIGINT       NOT NULL UNIQUE,
    project_id       VARCHAR(100) NOT NULL,
    artifact_id      VARCHAR(20)  NOT NULL,
    generator        VARCHAR(100) NOT NULL,
    status           VARCHAR(20)  NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
    description      TEXT,
    correlation_id   TEXT         NOT NULL DEFAULT '',
    inputs_json      JSONB        NOT NULL,
    created_at       TIMESTAMPTZ  NOT NULL DEFAULT now(),
    updated_at       TIMESTAMPTZ  NOT NULL DEFAULT now(),
    started_at       TIMESTAMPTZ,
    completed_at     TIMESTAMPTZ,
    worker           TEXT         NOT NULL DEFAULT '',
    completion_notes TEXT
);
CREATE INDEX idx_status ON tasks (status);
CREATE INDEX idx_project_artifact ON tasks (project_id, artifact_id);
CREATE INDEX idx_project_status ON tasks (project_id, status);
-- The oldest first, with a status and without.
CREATE INDEX idx_queue ON tasks (project_id, status, task_number);
CREATE INDEX idx_project_order ON tasks (project_id, task_number);
CREATE INDEX idx_inputs_json ON tasks USING GIN (inputs_json);
-- An artifact is in the queue once: what the check of a batch says, enforced.
CREATE UNIQUE INDEX idx_queued_artifact ON tasks (project_id, artifact_id)
    WHERE status IN ('pending', 'in_progress');

-- One sequence for all projects, because task_id alone is the key. It is a row
-- and not a SEQUENCE, so that a batch that fails takes no numbers with it.
CREATE TABLE task_sequence (
    only_row    INTEGER PRIMARY KEY CHECK (only_row = 1),
    last_number BIGINT  NOT NULL
);
INSERT INTO task_sequence (only_row, last_number) VALUES (1, 0);
