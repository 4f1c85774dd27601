package mcp

// Implementation identifies a client or server (schema Implementation). It is
// unverified: use it for display and logs only.
type Implementation struct {
	Name    string
	Version string
	// Title is for people, since 2025-06-18.
	Title string
	// Description, WebsiteURL and Icons are known since 2025-11-25.
	Description string
	WebsiteURL  string
	Icons       []Icon
	Extra       Members
	zero        presence
}

// ServerInfo is how a server identifies itself.
type ServerInfo = Implementation

func (v *Implementation) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", written, &v.Name)
	str(c, "version", written, &v.Version)
	str(c, "title", optional, &v.Title)
	str(c, "description", optional, &v.Description)
	str(c, "websiteUrl", optional, &v.WebsiteURL)
	list(c, "icons", optional, &v.Icons)
}

// DisplayName returns Title, or Name when there is none.
func (v *Implementation) DisplayName() string {
	if v.Title != "" {
		return v.Title
	}
	return v.Name
}

// Icon is a picture to show (schema Icon, since 2025-11-25). Its URI is
// untrusted.
type Icon struct {
	// Src is an https: or data: URI.
	Src      string
	MIMEType string
	// Sizes are "WxH" or "any".
	Sizes []string
	// Theme is "light", "dark" or empty.
	Theme string
	Extra Members
	zero  presence
}

func (v *Icon) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "src", written, &v.Src)
	str(c, "mimeType", optional, &v.MIMEType)
	strs(c, "sizes", optional, &v.Sizes)
	str(c, "theme", optional, &v.Theme)
}
