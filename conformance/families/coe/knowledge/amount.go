package knowledge

import (
	"regexp"
	"strings"
)

// An amount is what an answer to "how long", "how large" or "how many" must have.
type amount struct {
	asks *regexp.Regexp
	// unit is what is beside the number; nil is anything.
	unit *regexp.Regexp
	// counts says that the number is one of things that the question names.
	counts bool
}

// word makes an expression for whole words, in upper or lower case.
func word(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + alternatives + `)(?:[^\pL]|$)`)
}

const (
	times = `ms|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hours?|days?|nights?|weeks?|months?|quarters?|years?|forever|indefinitely|` +
		`sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|secondes?|heures?|jours?|semaines?|mois|ans?|années?|` +
		`segundos?|minutos?|horas?|días?|semanas?|meses|años?`
	lengths = `characters?|chars?|letters?|words?|lines?|pages?|zeichen|wörter|zeilen|seiten|caractères?|mots?|lignes?|caracteres|` +
		`px|pixels?|mm|cm|m|km|met(?:er|re)s?|inch(?:es)?|feet|quadratmeter|m²`
	sizes = `bytes?|[kmgt]i?b|octets?|[kmgt]o|percent|prozent|%`
)

// amounts are tried in this order.
var amounts = []amount{
	{
		asks: regexp.MustCompile(`(?i)\bhow often\b|\bwie (?:oft|häufig)\b|à quelle fréquence|con qué frecuencia|多久一次|多长时间一次`),
		unit: word(`per|every|each|daily|nightly|hourly|weekly|monthly|yearly|annually|once|twice|times|always|never|jede[nrs]?|täglich|nächtlich|wöchentlich|` +
			`monatlich|jährlich|alle|pro|mal|einmal|zweimal|chaque|par|tous|toutes|fois|cada|por|veces|vez|每.*`),
	},
	{
		asks: regexp.MustCompile(`(?i)\b(?:for )?how (?:long|old|soon|quickly|fast)\b|\bwie (?:lange|alt|schnell)\b|\bcombien de temps\b|\bcuánto tiempo\b|多久|多长时间`), //nolint:misspell // Spanish
		unit: regexp.MustCompile(word(times+`|`+lengths).String() + `|[秒分天周月年]|小时`),
	},
	{
		asks: regexp.MustCompile(`(?i)\bhow (?:large|big|heavy|wide|high|tall)\b|\bwie (?:groß|gross|schwer|breit|hoch)\b|\bquelle (?:est la )?taille\b|\bcómo de grande\b|多大`),
		unit: regexp.MustCompile(word(sizes+`|`+lengths+`|kg|g|items?|rows?|files?`).String() + `|[^\pL]*\d[kmgt]i?b|字节|平方米|像素`),
	},
	{asks: regexp.MustCompile(`(?i)\bhow many\b|\bwie ?viele\b|\bcombien (?:de|d['’])|\bcuánt[oa]s\b|几个|多少个`), counts: true},
}

// number is a number in digits or words.
var number = regexp.MustCompile(`(?i)\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|` +
	`twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|half|dozen|once|twice|no|unlimited|forever|indefinitely|` +
	`daily|nightly|hourly|weekly|monthly|yearly|annually|every|each|always|never|` +
	`eine?[nmrs]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|hundert|tausend|täglich|wöchentlich|monatlich|jährlich|jede[nrs]?|alle|` +
	`une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|cent|mille|chaque|tous|toutes|` +
	`dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|veinte|treinta|cien|mil|cada)\b|[一二两三四五六七八九十百千万每]`)

// sentenceEnd is where one sentence ends and another begins, also at the items of a
// list. A line that a writer broke is no end.
var sentenceEnd = regexp.MustCompile(`[.!?;][*_)"”»]*\s+|[。！？；]|\n\s*\n|\n\s*(?:[-*+|]|\d+[.)])\s+`)

func sentences(text string) []string {
	var out []string
	for _, s := range sentenceEnd.Split(text, -1) {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// tells reports whether a sentence of an entry has the amount that was asked for, said
// of what the question is about: with a word of it, or below a heading that has all.
func (x *Index) tells(j *judged, a *asked) bool {
	below := len(a.terms) > 0 && covered(a.terms, j.heads) == 1
	text := j.entry.says()
	if j.entry.code {
		text = j.quote.text
	}
	for _, s := range sentences(text) {
		if !number.MatchString(s) || a.amount.unit != nil && !a.amount.unit.MatchString(s) {
			continue
		}
		if a.amount.counts && len(a.counted) > 0 {
			if x.counts(s, a.counted) {
				return true
			}
		} else if below || covered(a.terms, x.stemsOf(s)) > 0 {
			return true
		}
	}
	return false
}

// between is how many words may stand between a number and what it counts.
const between = 2

// counts reports whether a sentence has a number of the things: "at most 100 small
// items".
func (x *Index) counts(sentence string, things []term) bool {
	all := words(sentence, false)
	for i, w := range all {
		if !number.MatchString(w) {
			continue
		}
		if following := all[i:min(len(all), i+between+2)]; covered(things, x.stemsOf(strings.Join(following, " "))) > 0 {
			return true
		}
	}
	return false
}

// says is what an entry states.
func (e *Entry) says() string { return e.Answer + "\n\n" + e.Quote }

// stemsOf returns the words of a text as the index has them.
func (x *Index) stemsOf(text string) map[string]bool {
	has := map[string]bool{}
	for _, w := range words(text, true) {
		for _, l := range x.languages {
			has[l.stemmed(w)] = true
		}
	}
	return has
}
