-- The registry of the ID Management service (tools.md 2.10).
CREATE TABLE id_registry (
    project_id       VARCHAR(100) NOT NULL,
    artifact_type    VARCHAR(10)  NOT NULL,
    last_assigned_id INTEGER      NOT NULL DEFAULT 0,
    created_at       TIMESTAMPTZ  NOT NULL DEFAULT now(),
    updated_at       TIMESTAMPTZ  NOT NULL DEFAULT now(),
    UNIQUE (project_id, artifact_type)
) WITH (fillfactor = 50); -- room for the next version of a row beside it
CREATE TABLE id_reservations (
    reservation_id UUID         PRIMARY KEY,
    artifact_type  VARCHAR(10)  NOT NULL,
    project_id     VARCHAR(100) NOT NULL,
    reserved_ids   TEXT[]       NOT NULL,
    expires_at     TIMESTAMPTZ  NOT NULL,
    confirmed      BOOLEAN      NOT NULL DEFAULT FALSE,
    created_at     TIMESTAMPTZ  NOT NULL DEFAULT now()
);
CREATE INDEX idx_reservations_expires ON id_reservations (expires_at) WHERE confirmed = FALSE;
