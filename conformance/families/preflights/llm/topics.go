package llm

import (
	"regexp"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
)

// A topic is something the mock knows to ask about.
type topic struct {
	key       string // its semantic key in missing_info
	words     *regexp.Regexp
	questions []topicQuestion
}

// A topicQuestion says which field of the architecture its answer fills.
type topicQuestion struct {
	question.Question

	category, field string
	// categoryFrom names the question whose answer is the category.
	categoryFrom string
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

func (q topicQuestion) in(question string) topicQuestion {
	q.categoryFrom = question
	return q
}

func about(words string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`) }

var topics = []topic{
	{"authentication", about(`auth|authentication|oauth|sso`), []topicQuestion{
		single("auth_strategy", "Which authentication strategy?", "Authentication", "Strategy", "OAuth", "Email/Password", "Magic Links"),
		single("auth_library", "Which authentication library?", "Authentication", "Library", "next-auth", "Passport", "Auth0", "None"),
		multi("oauth_providers", "Which OAuth providers?", "Authentication", "Providers", "Google", "GitHub", "Microsoft").when("auth_strategy", "OAuth"),
	}},
	{"database", about(`databases?|db|sql|orm`), []topicQuestion{
		single("database_type", "Which database?", "Database", "Type", "PostgreSQL", "MySQL", "SQLite", "MongoDB"),
		single("database_orm", "Which ORM or access layer?", "Database", "ORM", "Prisma", "Drizzle", "SQLAlchemy", "None"),
		text("database_migrations", "How are schema migrations run?", "Database", "Migrations").optional(),
	}},
	{"storage", about(`storage|uploads?`), []topicQuestion{
		single("storage_technology", "Where are files stored?", "Other", "Storage", "Local disk", "S3-compatible", "Google Cloud Storage"),
	}},
	{"cache", about(`cach(e|es|ing)`), []topicQuestion{
		single("cache_technology", "Which cache?", "Infra", "Caching", "In-memory", "Redis", "Memcached", "CDN"),
	}},
	{"framework", about(`frameworks?`), []topicQuestion{
		single("framework_layer", "Which layer is it for?", "", "", "Frontend", "Backend"),
		text("framework_name", "Which framework?", "", "Framework").in("framework_layer"),
	}},
	{"runtime", about(`runtimes?`), []topicQuestion{
		text("runtime_name", "Which runtime, and which version?", "Other", "Runtime"),
	}},
	{"deployment", about(`deploy(s|ment|ments|ing)?|infrastructure|infra|hosting`), []topicQuestion{
		single("deployment_hosting", "Where does it run?", "Infra", "Hosting", "Own servers", "Vercel", "AWS", "Kubernetes"),
		multi("deployment_environments", "Which environments are there?", "Infra", "Environments", "Development", "Staging", "Production"),
		text("deployment_ci_cd", "Which pipeline deploys it?", "Infra", "CI_CD").optional(),
	}},
	{"messaging", about(`queues?|messaging`), []topicQuestion{
		single("messaging_technology", "Which queue or message broker?", "Other", "Messaging", "RabbitMQ", "Kafka", "SQS", "Redis"),
	}},
}

func topicsOf(intention string) []topic {
	var found []topic
	for _, t := range topics {
		if t.words.MatchString(intention) {
			found = append(found, t)
		}
	}
	return found
}
