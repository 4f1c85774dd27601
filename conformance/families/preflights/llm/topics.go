package llm

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/decide"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
)

// A topic is something the mock knows to ask about.
type topic struct {
	key       string // its semantic key in missing_info, and its name in the vocabulary
	questions []topicQuestion
}

// A topicQuestion says which field of the architecture its answer fills.
type topicQuestion struct {
	question.Question

	category, field string
	// categoryFrom names the question whose answer is the category.
	categoryFrom string
	// known are options that are offered only to a request that names them.
	known []string
}

func (t *topic) required() int {
	n := 0
	for _, q := range t.questions {
		if !q.Optional && !q.Conditional() {
			n++
		}
	}
	return n
}

func single(id, text, category, field string, options ...string) topicQuestion {
	return topicQuestion{
		Question: question.Question{ID: id, Type: question.SingleChoice, Text: text, Options: append(options, question.Other)},
		category: category, field: field,
	}
}

func multi(id, text, category, field string, options ...string) topicQuestion {
	return topicQuestion{
		Question: question.Question{ID: id, Type: question.MultiChoice, Text: text, Options: append(options, question.Other), MinSelections: 1},
		category: category, field: field,
	}
}

func text(id, ask, category, field string) topicQuestion {
	return topicQuestion{Question: question.Question{ID: id, Type: question.FreeText, Text: ask}, category: category, field: field}
}

func (q topicQuestion) optional() topicQuestion {
	q.Optional = true
	return q
}

func (q topicQuestion) when(id, equals string) topicQuestion {
	q.DependsOn, q.Equals = id, equals
	return q
}

func (q topicQuestion) knows(options ...string) topicQuestion {
	q.known = options
	return q
}

func (q topicQuestion) in(question string) topicQuestion {
	q.categoryFrom = question
	return q
}

// topics are what the mock asks about, by the topics of the vocabulary of package
// decide. Those that come first are asked about first when there is no room for all.
var topics = []topic{
	{"authentication", []topicQuestion{
		single("auth_strategy", "Which authentication strategy?", "Authentication", "Strategy", "OAuth", "Email/Password", "Magic Links").
			knows("OpenID Connect", "OIDC", "SAML", "LDAP", "Active Directory", "Kerberos", "JWT", "Passkeys", "WebAuthn", "TOTP"),
		single("auth_library", "Which authentication library?", "Authentication", "Library", "next-auth", "Passport", "Auth0", "None"),
		multi("oauth_providers", "Which OAuth providers?", "Authentication", "Providers", "Google", "GitHub", "Microsoft").when("auth_strategy", "OAuth"),
	}},
	{"authorization", []topicQuestion{
		single("authorization_model", "What decides who may do what?", "Authentication", "Authorization", "Roles", "Attributes", "Relations between users and things"),
	}},
	{"database", []topicQuestion{
		single("database_type", "Which database?", "Database", "Type", "PostgreSQL", "MySQL", "SQLite", "MongoDB"),
		single("database_orm", "Which ORM or access layer?", "Database", "ORM", "Prisma", "Drizzle", "SQLAlchemy", "None").
			knows("Hibernate", "JPA", "TypeORM", "Entity Framework", "MyBatis", "Doctrine"),
		text("database_migrations", "How are schema migrations run?", "Database", "Migrations").optional(),
	}},
	{"storage", []topicQuestion{
		single("storage_technology", "Where are files stored?", "Storage", "Files", "Local disk", "S3-compatible", "Google Cloud Storage"),
	}},
	{"cache", []topicQuestion{
		single("cache_technology", "Which cache?", "Infra", "Caching", "In-memory", "Redis", "Memcached", "CDN"),
	}},
	{"framework", []topicQuestion{
		single("framework_layer", "Which layer is it for?", "", "", "Frontend", "Backend"),
		text("framework_name", "Which framework?", "", "Framework").in("framework_layer"),
	}},
	{"frontend", []topicQuestion{
		single("frontend_framework", "Which frontend framework?", "Frontend", "Framework", "React", "Vue", "Angular", "Svelte"),
	}},
	{"mobile", []topicQuestion{
		single("mobile_technology", "What is the app built with?", "Frontend", "Mobile", "Native code", "Flutter", "React Native", "Progressive web app"),
	}},
	{"backend", []topicQuestion{
		single("backend_framework", "Which backend framework?", "Backend", "Framework", "Spring Boot", "Django", "ASP.NET", "Express"),
	}},
	{"runtime", []topicQuestion{
		text("runtime_name", "Which language or runtime, and which version?", "Backend", "Language"),
	}},
	{"api", []topicQuestion{
		single("api_style", "Which style of interface?", "Backend", "API_Style", "REST", "GraphQL", "gRPC", "Webhooks"),
	}},
	{"deployment", []topicQuestion{
		single("deployment_hosting", "Where does it run?", "Infra", "Hosting", "Own servers", "Vercel", "AWS", "Kubernetes"),
		multi("deployment_environments", "Which environments are there?", "Infra", "Environments", "Development", "Staging", "Production"),
		text("deployment_ci_cd", "Which pipeline deploys it?", "Infra", "CI_CD").optional(),
	}},
	{"pipeline", []topicQuestion{
		single("pipeline_technology", "Which pipeline builds and deploys?", "Infra", "CI_CD", "GitHub Actions", "GitLab CI", "Jenkins"),
	}},
	{"provisioning", []topicQuestion{
		single("provisioning_technology", "What provisions the infrastructure?", "Infra", "Provisioning", "Terraform", "Pulumi", "Ansible"),
	}},
	{"messaging", []topicQuestion{
		single("messaging_technology", "Which queue or message broker?", "Messaging", "Broker", "RabbitMQ", "Kafka", "SQS", "Redis"),
	}},
	{"jobs", []topicQuestion{
		single("jobs_technology", "What runs the work in the background?", "Backend", "Jobs", "Workers behind a queue", "A scheduler", "Threads of the program"),
	}},
	{"workflow", []topicQuestion{
		single("workflow_engine", "What runs the steps of the process?", "Backend", "Workflows", "Own code", "Temporal", "Camunda"),
	}},
	{"realtime", []topicQuestion{
		single("realtime_transport", "How do changes reach others at once?", "Backend", "Realtime", "WebSocket", "Server-sent events", "Webhooks", "Polling"),
	}},
	{"search", []topicQuestion{
		single("search_engine", "Which search engine?", "Search", "Engine", "The database", "Elasticsearch", "OpenSearch", "Meilisearch"),
	}},
	{"payments", []topicQuestion{
		single("payments_provider", "Which payment provider?", "Payments", "Provider", "Stripe", "PayPal", "Adyen"),
	}},
	{"notifications", []topicQuestion{
		single("notifications_provider", "Which service sends the messages?", "Notifications", "Provider", "Own mail server", "SendGrid", "Amazon SES", "Twilio"),
	}},
	{"observability", []topicQuestion{
		single("observability_technology", "What collects logs, metrics and traces?", "Infra", "Observability", "OpenTelemetry", "Prometheus", "Datadog", "Sentry"),
	}},
	{"structure", []topicQuestion{
		single("structure_division", "How is the system divided?", "Structure", "Division", "One program of modules", "Separate services", "A core with plugins"),
	}},
	{"tenancy", []topicQuestion{
		single("tenancy_model", "What separates the data of tenants?", "Structure", "Tenancy", "A column", "A schema each", "A database each"),
	}},
	{"offline", []topicQuestion{
		text("offline_work", "What works without a connection, and what resolves conflicts afterwards?", "Structure", "Offline"),
	}},
	{"encryption", []topicQuestion{
		multi("encryption_scope", "What is encrypted?", "Security", "Encryption", "Data at rest", "Data in transit", "Single fields"),
	}},
	{"secrets", []topicQuestion{
		single("secrets_store", "Where are keys and secrets kept?", "Security", "Secrets", "Environment variables", "HashiCorp Vault", "A service of the cloud"),
	}},
	{"privacy", []topicQuestion{
		text("privacy_rule", "Which personal data is concerned, and what happens to it?", "Security", "Personal_Data"),
	}},
	{"audit", []topicQuestion{
		text("audit_scope", "What is recorded, and for how long?", "Security", "Audit"),
	}},
	{"analytics", []topicQuestion{
		single("analytics_store", "Where is the data analysed?", "Analytics", "Store", "BigQuery", "Snowflake", "ClickHouse"),
	}},
	{"ai", []topicQuestion{
		single("ai_model", "Which model or service?", "AI", "Model", "A model of our own", "OpenAI", "Anthropic"),
	}},
}

// topicsOf returns the topics of an intention, with the questions about each.
func topicsOf(intention string) []topic {
	meant := decide.Topics(intention)
	var found []topic
	for _, t := range topics {
		for _, m := range meant {
			if m.Name == t.key {
				found = append(found, t.offering(m))
			}
		}
	}
	return found
}

// offering returns t with the products that the request names as the first
// options: of the question that has or knows them, else of the first one that
// knows no others. Other words for an option count as it. What the request
// rejects is the last one before "Other".
func (t topic) offering(meant decide.Topic) topic {
	t.questions = slices.Clone(t.questions)
	names := meant.Products
	for _, word := range meant.Words {
		if option := optionFor(word); option != word {
			names = append(names, option)
		}
	}
	for _, name := range slices.Backward(names) {
		name = optionFor(name)
		at := slices.IndexFunc(t.questions, func(q topicQuestion) bool {
			return fold(q.Options, name) >= 0 || fold(q.known, name) >= 0
		})
		if at < 0 {
			at = slices.IndexFunc(t.questions, func(q topicQuestion) bool { return len(q.Options) > 0 && q.known == nil })
		}
		if at >= 0 {
			t.questions[at].Options = first(name, t.questions[at].Options)
		}
	}
	for _, name := range meant.Rejected {
		for i := range t.questions {
			t.questions[i].Options = last(optionFor(name), t.questions[i].Options)
		}
	}
	return t
}

// first returns options with product, or the option that means it, in front.
func first(product string, options []string) []string {
	options = slices.Clone(options)
	if at := fold(options, product); at >= 0 {
		product = options[at]
		options = slices.Delete(options, at, at+1)
	}
	return slices.Insert(options, 0, product)
}

// last returns options with the one of a name, if there is one, before "Other".
func last(name string, options []string) []string {
	at := fold(options, name)
	if at < 0 {
		return options
	}
	name = options[at]
	options = slices.Delete(slices.Clone(options), at, at+1)
	return slices.Insert(options, len(options)-1, name)
}

func fold(list []string, name string) int {
	return slices.IndexFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}
