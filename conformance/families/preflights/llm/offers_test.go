package llm

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
)

// TestTopics_TheChoiceOfTheRequestIsFirst: what a request chooses is the first
// option, what it rejects the last one, and each is offered once.
func TestTopics_TheChoiceOfTheRequestIsFirst(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ request, question, first, rejected string }{
		{"Split the monolith into microservices", "structure_division", "Separate services", "One program of modules"},
		{"Break up the monolith", "structure_division", "Separate services", "One program of modules"},
		{"Merge the microservices into a monolith", "structure_division", "One program of modules", "Separate services"},
		{"Restructure the system as a modular monolith", "structure_division", "One program of modules", ""},
		{"Build a plugin system", "structure_division", "A core with plugins", ""},
		{"Do not use Kafka; use NATS", "messaging_technology", "NATS", "Kafka"},
		{"Don't use Kafka, use NATS as the message broker", "messaging_technology", "NATS", "Kafka"},
		{"Use a message queue other than RabbitMQ", "messaging_technology", "Kafka", "RabbitMQ"},
		{"Drop Kafka", "messaging_technology", "RabbitMQ", "Kafka"},
		{"Drop Kafka in favour of NATS", "messaging_technology", "NATS", "Kafka"},
		{"Send events over NATS instead of Kafka", "messaging_technology", "NATS", "Kafka"},
		{"Drop RabbitMQ", "messaging_technology", "Kafka", "RabbitMQ"},
		{"Drop the old queue and use Kafka", "messaging_technology", "Kafka", ""},
		{"Send events over Kafka", "messaging_technology", "Kafka", ""},
		{"Use Postgres", "database_type", "PostgreSQL", ""},
		{"Use Postgres (PostgreSQL 17) as our database", "database_type", "PostgreSQL", ""},
		{"Use Mongo as our database", "database_type", "MongoDB", ""},
		{"Replace MySQL with Postgres", "database_type", "PostgreSQL", ""},
		{"Do not use Postgres as our database; use MySQL", "database_type", "MySQL", "PostgreSQL"},
		{"Instead of Kafka, use NATS", "messaging_technology", "NATS", "Kafka"},
		{"Move our messaging from Kafka to NATS", "messaging_technology", "NATS", ""},
		{"Use NATS, not Kafka", "messaging_technology", "NATS", "Kafka"},
		{"Deploy the monolith without downtime on Kubernetes", "deployment_hosting", "Kubernetes", ""},
		{"Add a message queue without Kafka", "messaging_technology", "RabbitMQ", "Kafka"},
		{"Use any message broker but not RabbitMQ", "messaging_technology", "Kafka", "RabbitMQ"},
		{"Split the MySQL database by tenant", "database_type", "MySQL", ""},
		{"Combine Redis with a CDN as cache", "cache_technology", "Redis", ""},
		{"We want to drop MySQL, licences are too expensive", "database_type", "PostgreSQL", "MySQL"},
		{"Extract billing from the monolith into a microservice", "structure_division", "Separate services", ""},
		{"Deploy to k8s", "deployment_hosting", "Kubernetes", ""},
	} {
		t.Run(tc.request, func(t *testing.T) {
			t.Parallel()
			got := optionsOf(topicsOf(tc.request), tc.question)
			require.NotEmpty(t, got)
			require.Equal(t, tc.first, got[0], got)
			require.Equal(t, question.Other, got[len(got)-1])
			if tc.rejected != "" {
				require.Equal(t, tc.rejected, got[len(got)-2], got)
			}
			plain := strings.NewReplacer("PostgreSQL", "postgres", "Postgres", "postgres")
			for i := range got {
				got[i] = plain.Replace(got[i])
			}
			slices.Sort(got)
			require.Len(t, slices.Compact(slices.Clone(got)), len(got), got)
		})
	}
}

func optionsOf(topics []topic, id string) []string {
	for _, t := range topics {
		for _, q := range t.questions {
			if q.ID == id {
				return slices.Clone(q.Options)
			}
		}
	}
	return nil
}
