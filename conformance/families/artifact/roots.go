package artifact

// resourceRoot is where stored artifacts are read, and pathRoot how the paths of
// files begin: it is the base. After it an artifact_path has the folder that the
// file is in, and a resource_path, as a URI, the plural (C-06).
const (
	resourceRoot = "mcp://resources/artifacts/"
	pathRoot     = "artifacts/"
)
