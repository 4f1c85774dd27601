package knowledge

import (
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/spanish"
	"golang.org/x/text/unicode/norm"
)

// A language is how a text is reduced to words that can be compared.
type language struct {
	name string
	stem func(*snowballstem.Env) bool
	// stop are words that carry no meaning for a search.
	stop map[string]bool
}

// languages are those that are distinguished. Texts in others are compared by
// their words as they stand.
var languages = []*language{
	{"en", english.Stem, set(`a about am an and any are as at be been but by can could did do does doing done for from had has have having he
		her here him his how i if in into is it its just let may me might must my need no not of off on once only or our out
		own over per please shall she should so some such than that the their them then there these they this those to too up us use
		now used using very via was we were what when where whether which while who whom whose why will with would you your yours s t re ve ll
		im ive dont cant doesnt isnt wont happen happens get gets got there's what's it's how's`)},
	{"de", german.Stem, set(`aber als am an auch auf aus bei bin bis bist da damit dann das dass daß dein dem den der des die dies diese diesem diesen
		dieser dieses doch dort du durch ein eine einem einen einer eines er es für gibt habe haben hat hier ich ihr ihre im
		in ist ja kann kannst können man mein meine mich mir mit muss muß nach nicht noch nur ob oder sein seine sich sie sind so soll sollte tun tut mal meinem meinen meiner meines ihren ihrem seinen wieviel viel viele wurde würde hatte waren
		über um und uns unser unter vom von vor wann war warum was welche welchem welchen welcher welches wenn wer werden wie wird wo
		wohin womit wozu worum zu zum zur mache macht machen darf darfst dürfen kein keine keinem keinen keiner`)},
	{"fr", french.Stem, set(`à a ai alors après au aucun aussi autre aux avec avoir c ça car ce cela ces cet cette comme comment d dans de des dois doit du elle elles en
		est et être faire fait faut il ils j je l la le les leur leurs lors ma mais me mes mon n ne nos notre nous on ont ou où
		par pas peut peuvent peux plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sait sert servent sans combien peux veux se ses si son sont sur ta te
		tes ton tu un une utiliser vos votre vous y`)},
	{"es", spanish.Stem, set(`a al algo ante aunque como cómo con cual cuál cuando cuándo de debe debo del desde donde dónde e el él ella en entre era es esa ese eso esta
		está este esto ha hace hacer hay la las le lo los más me mi muy no nos o para pero por porque puede puedo que qué
		quien quién se sea ser si sí sin sobre son su sus también te tiene tu un una uno usar y ya yo`)},
}

// phrases are what asks in scripts without blanks, where no stop word can be told
// apart.
var phrases = func() *strings.Replacer {
	var pairs []string
	for w := range strings.FieldsSeq(`什么时候 为什么 怎么样 什么 怎么 怎样 如何 多久 多少 多大 哪里 哪儿 哪个 哪些 谁 可以 能否 能不能 是否 请问 吗 呢 的 了 是
		什麼時候 為什麼 什麼 怎麼 哪裡 哪個 嗎 ですか ますか でしょうか とは どうやって どのように どうすれば どこ いつ どの なぜ 何 誰 は を が の に で`) {
		pairs = append(pairs, w, " ")
	}
	return strings.NewReplacer(pairs...)
}()

// general are words of everyday questions. They count for less than the words
// that say what a question is about.
var general = set(`add again also allow allowed always another ask available avoid bad best better big call called change check come common
	correct correctly current currently default different easiest easy effect enough example exactly explain fast find first fix give go good happen
	help important inside instead keep kind know last like list long look main make makes many mean means more most much name
	necessary new next often nice number old one option options order part pass place point possible problem project properly provide put question
	really recommended right run safe say see set simple someone something specific start still support supported system take tell thing
	things time tool tools try two type types understand value want way ways well work working works wrong
	beste besten bitte einfach finde geht möchte muss sollte will
	bien bon bonne besoin possible souhaite veux voudrais`)

// common are words of everyday tasks. They say more than the general ones and
// less than names of things.
var common = set(`after before between change close create delete disable enable get handle manage mark open read remove run send set show start stop update use without write
	anlegen erstellen löschen ändern öffnen schließen senden starten
	afficher changer créer mettre modifier rendre supprimer`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[strings.ReplaceAll(w, "'", "")] = true
	}
	return m
}

// languageOf returns the language most of whose stop words occur; nil when
// none does.
func languageOf(words []string) *language {
	var best *language
	most := 0
	for _, l := range languages {
		n := 0
		for _, w := range words {
			if l.stop[w] {
				n++
			}
		}
		if n > most {
			best, most = l, n
		}
	}
	return best
}

// stemmed reduces a word; l may be nil.
func (l *language) stemmed(word string) string {
	if l != nil && len(word) > 2 {
		env := snowballstem.NewEnv(word)
		l.stem(env)
		word = env.Current()
	}
	return folded(word)
}

// letters that decompose into no base letter.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ı", "i", "þ", "th", "ð", "d")

// folded removes accents.
func folded(word string) string {
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < 0x80
	}
	if ascii {
		return word
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(letters.Replace(word)) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// dense are scripts without blanks between words. Their texts are searched by
// pairs of characters.
var dense = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// maxWord bounds a word, in bytes: what is longer is no word.
const maxWord = 64

// words splits a text into lower-case words, in order. A name in camel case
// also gives its parts, when parts is set.
func words(text string, parts bool) []string {
	var out []string
	for field := range strings.FieldsFuncSeq(norm.NFC.String(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '\'' && r != '’'
	}) {
		for _, run := range scripts(field) {
			if unicode.IsOneOf(dense, run[0]) {
				out = append(out, pairs(run)...)
				continue
			}
			out = append(out, plainWords(string(run), parts)...)
		}
	}
	return out
}

// contracted is what follows the apostrophe of English contractions.
var contracted = set("s t re ve ll d m")

// plainWords splits a field of a script with blanks at apostrophes: l'index is
// two words, don't is one, and the s of user's goes.
func plainWords(field string, parts bool) []string {
	var out []string
	pieces := strings.FieldsFunc(field, func(r rune) bool { return r == '\'' || r == '’' })
	for i := 0; i < len(pieces); i++ {
		p := pieces[i]
		if i+1 < len(pieces) && len(p) > 1 && contracted[strings.ToLower(pieces[i+1])] {
			if i++; !strings.EqualFold(pieces[i], "s") {
				p += pieces[i]
			}
		}
		if len(p) > maxWord {
			continue
		}
		out = append(out, strings.ToLower(p))
		if parts {
			out = append(out, camel(p)...)
		}
	}
	return out
}

// scripts splits a field where it changes between scripts with and without
// blanks.
func scripts(field string) [][]rune {
	var out [][]rune
	var last bool
	for i, r := range []rune(field) {
		d := unicode.IsOneOf(dense, r)
		if i == 0 || d != last {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
		last = d
	}
	return out
}

// pairs returns every two neighbours, or a character that has none.
func pairs(run []rune) []string {
	if len(run) == 1 {
		return []string{string(run)}
	}
	out := make([]string, 0, len(run)-1)
	for i := range len(run) - 1 {
		out = append(out, string(run[i:i+2]))
	}
	return out
}

// camel returns the parts of trustProxy or HTTPServer in lower case; none for a
// word that has no parts.
func camel(word string) []string {
	var out []string
	rs := []rune(word)
	from := 0
	for i := 1; i < len(rs); i++ {
		begins := unicode.IsUpper(rs[i]) && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]))
		if begins {
			out = append(out, strings.ToLower(string(rs[from:i])))
			from = i
		}
	}
	if from == 0 {
		return nil
	}
	return append(out, strings.ToLower(string(rs[from:])))
}
