package llm

import "strings"

// synonyms are the options that other words of requests mean.
var synonyms = map[string]string{
	"postgres":            "PostgreSQL",
	"mongo":               "MongoDB",
	"rabbit mq":           "RabbitMQ",
	"k8s":                 "Kubernetes",
	"websockets":          "WebSocket",
	"web sockets":         "WebSocket",
	"sse":                 "Server-sent events",
	"server sent events":  "Server-sent events",
	"rest api":            "REST",
	"rest apis":           "REST",
	"restful":             "REST",
	"microservice":        "Separate services",
	"microservices":       "Separate services",
	"micro services":      "Separate services",
	"mikroservices":       "Separate services",
	"microservicios":      "Separate services",
	"微服务":                 "Separate services",
	"monolith":            "One program of modules",
	"monolithe":           "One program of modules",
	"monolito":            "One program of modules",
	"modular":             "One program of modules",
	"modulith":            "One program of modules",
	"单体":                  "One program of modules",
	"plugins":             "A core with plugins",
	"plugin system":       "A core with plugins",
	"plugin architecture": "A core with plugins",
	"plug in system":      "A core with plugins",
}

// optionFor returns the option that a word of a request means, else the word.
func optionFor(word string) string {
	if option, ok := synonyms[strings.ReplaceAll(strings.ToLower(word), "-", " ")]; ok {
		return option
	}
	return word
}
