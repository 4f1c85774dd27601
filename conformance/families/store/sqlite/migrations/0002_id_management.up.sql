-- The registry of the ID Management service (tools.md 2.10).
CREATE TABLE id_registry (
    project_id       VARCHAR(100) NOT NULL,
    artifact_type    VARCHAR(10)  NOT NULL,
    last_assigned_id INTEGER      NOT NULL DEFAULT 0,
    created_at       TEXT         NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
    updated_at       TEXT         NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
    UNIQUE (project_id, artifact_type)
);
CREATE TABLE id_reservations (
    reservation_id TEXT         PRIMARY KEY NOT NULL,
    artifact_type  VARCHAR(10)  NOT NULL,
    project_id     VARCHAR(100) NOT NULL,
    reserved_ids   TEXT         NOT NULL CHECK (json_valid(reserved_ids)),
    expires_at     TEXT         NOT NULL,
    confirmed      BOOLEAN      NOT NULL DEFAULT FALSE,
    created_at     TEXT         NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'))
);
CREATE INDEX idx_reservations_expires ON id_reservations (expires_at) WHERE confirmed = FALSE;
