ALTER TYPE artifacttype ADD VALUE IF NOT EXISTS 'generated_file';
