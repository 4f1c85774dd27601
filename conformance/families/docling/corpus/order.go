package corpus

import "slices"

// Order reports how much of a text was read in its order: of the words that are once in the
// source and once in what was read, the share of the longest sequence in the order of both.
// It is 1 without such words. Characters that are words of their own count in pairs, because
// most of them are there more than once.
func Order(source, read string) float64 {
	where := map[string]int{}
	for i, unit := range units(read) {
		if _, again := where[unit]; again {
			i = -1
		}
		where[unit] = i
	}
	seen := map[string]int{}
	of := units(source)
	for _, unit := range of {
		seen[unit]++
	}
	var found []int // the places in read, in the order of source
	for _, unit := range of {
		if at, ok := where[unit]; ok && at >= 0 && seen[unit] == 1 {
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		return 1
	}
	return float64(rising(found)) / float64(len(found))
}

// BestOrder is the order of a text beside that of the program that reads it most alike.
func BestOrder(read string, texts map[string]string) float64 {
	best := 0.0
	for program, text := range texts {
		if program != parts {
			best = max(best, Order(text, read))
		}
	}
	return best
}

// units are the words of a text in order, and pairs of those of one character.
func units(text string) []string {
	words := Words(text)
	out := make([]string, 0, len(words))
	for i, w := range words {
		if alone([]rune(w)[0]) && i+1 < len(words) {
			w += words[i+1]
		}
		out = append(out, w)
	}
	return out
}

// rising is the length of the longest rising sequence among numbers.
func rising(numbers []int) int {
	var ends []int // the least number that a sequence of each length ends with
	for _, n := range numbers {
		at, _ := slices.BinarySearch(ends, n)
		if at == len(ends) {
			ends = append(ends, n)
		} else {
			ends[at] = n
		}
	}
	return len(ends)
}
