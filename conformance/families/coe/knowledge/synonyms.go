package knowledge

import (
	"slices"
	"strings"
)

// groups are words that questions and documents use for the same thing.
const groups = `delete remove erase uninstall drop clear
create make add generate new
install setup installation
configure configuration config settings setting option options setup
error failure fail exception fault crash problem
change modify edit update alter
upgrade update
show display list print view
disable deactivate off
enable activate on
begin start launch run boot
stop end terminate shutdown halt kill quit exit
folder directory
parameter argument option flag
speed performance fast slow latency
login authentication authenticate auth signin
password credential credentials secret
permission permissions access rights
repository repo
documentation docs manual
database db
environment env
variable variables
get fetch retrieve read obtain
send submit post
receive accept
allow permit enable
forbid deny block prevent refuse reject
maximum max limit most
minimum min least
timeout deadline
choose select pick
check verify validate test
log logging logs
encrypt encryption
image picture photo
answer reply response
request query
cost price fee
purchase buy
repair fix mend
employee staff worker
vacation holiday leave
doctor physician
ill sick illness disease
salary pay wage wages
hide mask redact conceal
mock stub fake
share reuse
car vehicle automobile
löschen entfernen
erstellen anlegen erzeugen
ändern anpassen bearbeiten
einstellung option
starten beginnen
beenden stoppen
fehler problem störung
supprimer enlever effacer retirer
créer ajouter générer
modifier changer
erreur problème
installer installation
bouton boutons`

// synonyms are the other words of the groups of a word.
var synonyms = func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(groups) {
		words := strings.Fields(line)
		for _, w := range words {
			for _, l := range languages {
				key := l.stemmed(w)
				for _, other := range words {
					if other != w && !slices.Contains(m[key], other) {
						m[key] = append(m[key], other)
					}
				}
			}
		}
	}
	return m
}()
