package knowledge

import (
	"regexp"
	"strings"
	"unicode"
)

// An amount is what an answer to "how long", "how large", "how many" or "how much" must
// have.
type amount struct {
	asks *regexp.Regexp
	// units are the words of which one is beside the number, dense the characters in
	// scripts without blanks; nil is anything.
	units map[string]bool
	dense string
	// counts is set when the number is one of things that the question names.
	counts bool
}

const (
	times = `ms millisecond milliseconds s sec secs second seconds min mins minute minutes h hour hours day days night nights week weeks month months quarter quarters
		year years forever indefinitely sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren
		seconde secondes heure heures jour jours semaine semaines mois an ans année années segundo segundos minuto minutos hora horas día días semana semanas mes meses año años`
	lengths = `character characters char chars letter letters word words line lines page pages zeichen wörter zeilen seiten caractère caractères mot mots ligne lignes
		caracteres px pixel pixels mm cm m km meter meters metre metres inch inches feet quadratmeter`
	sizes = `byte bytes b kb mb gb tb kib mib gib tib octet octets ko mo go percent prozent kg g item items row rows file files`
	rates = `per every each daily nightly hourly weekly monthly yearly annually once twice times always never jede jeder jedes jeden täglich nächtlich wöchentlich
		monatlich jährlich alle pro mal einmal zweimal chaque par tous toutes fois cada por veces vez`
)

// amounts are tried in this order.
var amounts = []amount{
	{
		asks:  regexp.MustCompile(`(?i)\bhow often\b|\bwie (?:oft|häufig)\b|à quelle fréquence|con qué frecuencia|多久一次|多长时间一次`),
		units: set(rates), dense: "每",
	},
	{
		asks: regexp.MustCompile(`(?i)\b(?:for )?how (?:long|old|soon|quickly|fast)\b|\bwie (?:lange|alt|schnell)\b|\bcombien de temps\b` +
			`|\bcuánto tiempo\b|多久|多长时间`), //nolint:misspell // Spanish
		units: set(times + " " + lengths), dense: "秒分时天周月年",
	},
	{
		asks: regexp.MustCompile(`(?i)\bhow (?:large|big|heavy|wide|high|tall)\b|\bwie (?:groß|gross|schwer|breit|hoch)\b` +
			`|\bquelle (?:est la )?taille\b|\bcómo de grande\b|多大`),
		units: set(sizes + " " + lengths), dense: "节米素",
	},
	{asks: regexp.MustCompile(`(?i)\bhow many\b|\bwie ?viele\b|\bcombien (?:de|d['’])|\bcuánt[oa]s\b|几个|多少个`), counts: true},
	{asks: regexp.MustCompile(`(?i)\bhow much\b|\bwie ?viel\b|\bcuánt[oa]\b`)},
}

// numbers are numbers in words, and words that do for one.
var numbers = set(`one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty
	fifty sixty seventy eighty ninety hundred thousand million half dozen no unlimited forever indefinitely
	once twice daily nightly hourly weekly monthly yearly annually every each always never
	ein eine einen einem einer eines zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert tausend täglich nächtlich wöchentlich monatlich
	jährlich jede jeder jedes jeden alle einmal zweimal
	un une deux trois quatre cinq sept huit neuf dix onze douze quinze vingt trente cent mille chaque tous toutes
	uno una dos tres cuatro cinco seis siete ocho nueve diez doce veinte treinta cien mil cada`)

// year is a number that is no amount.
var year = regexp.MustCompile(`^(?:19|20)\d\d$`)

const denseNumbers = "一二两三四五六七八九十百千万每"

// isNumber reports whether a word is a number, or begins with one: 200ms.
func isNumber(word string) bool { return numbers[word] || unicode.IsDigit([]rune(word)[0]) }

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

// tells reports whether a sentence of an entry has the amount that was asked for, about
// what the question is about: with a word of it, or below a heading that is nothing else.
func (x *Index) tells(j *judged, a *asked) bool {
	below := covered(a.terms, j.heads) == 1 && x.subject(j.entry, a.terms) == 1
	text := j.entry.says()
	if j.entry.code {
		text = j.quote.text
	}
	for _, s := range sentences(text) {
		all := words(s, false)
		switch {
		case a.amount.counts && len(a.counted) > 0:
			if x.counts(all, a.counted) {
				return true
			}
		case a.amount.in(s, all) && (below || covered(a.terms, x.stemsOf(s)) > 0):
			return true
		}
	}
	return false
}

// in reports whether a sentence has a number with a unit.
func (a *amount) in(sentence string, all []string) bool {
	number, unit := strings.ContainsAny(sentence, denseNumbers), a.units == nil || strings.ContainsAny(sentence, a.dense+"%")
	for _, w := range all {
		number = number || isNumber(w) && !year.MatchString(w)
		unit = unit || a.units[strings.TrimLeftFunc(w, unicode.IsDigit)]
	}
	return number && unit
}

// between is how many words may stand between a number and what it counts.
const between = 2

// counts reports whether the words of a sentence have a number of the things: "at most
// 100 small items".
func (x *Index) counts(all []string, things []term) bool {
	for i, w := range all {
		if !isNumber(w) {
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
