package offline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// timePhrase is a time in words with its meaning at the time of the corpus, 4 March 2026 10:15.
type timePhrase struct{ words, at string }

var generatedTimes = []timePhrase{
	{"at 6pm", "2026-03-04T18:00"},
	{"at 17:30", "2026-03-04T17:30"},
	{"tomorrow at 9am", "2026-03-05T09:00"},
	{"tomorrow at noon", "2026-03-05T12:00"},
	{"on friday at 3pm", "2026-03-06T15:00"},
	{"tonight at 8", "2026-03-04T20:00"},
	{"in 20 minutes", "2026-03-04T10:35"},
	{"in half an hour", "2026-03-04T10:45"},
	{"in 2 hours", "2026-03-04T12:15"},
	{"on 12 march at 10:00", "2026-03-12T10:00"},
	{"next monday at 7:45", "2026-03-09T07:45"},
	{"at quarter past 4 in the afternoon", "2026-03-04T16:15"},
}

var generatedObjects = []string{
	"call mum", "buy oat milk", "email Tom about the invoice", "pay the rent", "water the plants", "pick up the parcel",
	"renew the passport", "feed the cat", "ring the vet", "book a table for four", "take out the bins", "check page 12 of the contract",
}

var generatedItems = []string{"milk", "eggs", "rye bread", "olive oil", "tomatoes", "dog food", "batteries", "sun cream"}

// generatedWish is a sentence with the calls that it must lead to. No calls means that the sentence
// must not change anything.
type generatedWish struct {
	class, text string
	want        []call
}

// wishMaker makes a sentence of one class.
type wishMaker struct {
	class string
	make  func(r *rand.Rand) generatedWish
}

func pickOne[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func reminderCall(text string, t timePhrase) call {
	return call{"create_reminder", map[string]any{"text": text, "at": t.at}}
}

// fixedWishes makes sentences of templates with {object}, {time} and {item}.
func fixedWishes(class string, want func(object, item string, t timePhrase) []call, templates ...string) wishMaker {
	return wishMaker{class, func(r *rand.Rand) generatedWish {
		object, item, t := pickOne(r, generatedObjects), pickOne(r, generatedItems), pickOne(r, generatedTimes)
		text := strings.NewReplacer("{object}", object, "{item}", item, "{time}", t.words).Replace(pickOne(r, templates))
		return generatedWish{class: class, text: text, want: want(object, item, t)}
	}}
}

func nothingWanted(string, string, timePhrase) []call { return nil }

func wishMakers() []wishMaker {
	return []wishMaker{
		fixedWishes("reminder", func(object, _ string, t timePhrase) []call { return []call{reminderCall(object, t)} },
			"remind me {time} to {object}", "remind me to {object} {time}", "set a reminder {time} to {object}", "{time} remind me to {object}",
			"don't let me forget to {object} {time}", "i need a reminder to {object} {time}"),
		fixedWishes("task", func(object, _ string, _ timePhrase) []call {
			return []call{{"create_task", map[string]any{"title": object}}}
		}, "add a task to {object}", "new task: {object}", "add {object} to my to-do list", "put {object} on my todo list"),
		fixedWishes("list", func(_, item string, _ timePhrase) []call {
			return []call{{"create_task", map[string]any{"title": item, "project": "shopping list"}}}
		}, "add {item} to my shopping list", "put {item} on the grocery list", "shopping list: {item}"),
		{"two-reminders", func(r *rand.Rand) generatedWish {
			a, b := pickOne(r, generatedObjects), pickOne(r, generatedObjects)
			s, t := pickOne(r, generatedTimes), pickOne(r, generatedTimes)
			form := pickOne(r, []string{"remind me to %s %s and %s %s", "remind me to %s %s and to %s %s", "remind me to %s %s and remind me to %s %s"})
			return generatedWish{"two-reminders", fmt.Sprintf(form, a, s.words, b, t.words), []call{reminderCall(a, s), reminderCall(b, t)}}
		}},
		{"two-kinds", func(r *rand.Rand) generatedWish {
			a, b, t := pickOne(r, generatedObjects), pickOne(r, generatedObjects), pickOne(r, generatedTimes)
			return generatedWish{"two-kinds", fmt.Sprintf("add a task to %s and remind me %s to %s", a, t.words, b), []call{
				{"create_task", map[string]any{"title": a}}, reminderCall(b, t),
			}}
		}},
		fixedWishes("negation", nothingWanted, "don't remind me to {object} {time}", "do not add {item} to my shopping list", "i don't need to {object}",
			"never add a task to {object}", "i did not spend 20 on {item}", "i didn't {object}", "please don't add a task to {object}"),
		fixedWishes("question", nothingWanted, "did i {object}?", "is there a meeting {time}?", "do i have to {object} {time}?", "is {item} on my shopping list?",
			"what have i got {time}?", "when should i {object}?", "who can {object}?", "how much is {item}?", "have i already paid for {item}?"),
		fixedWishes("condition", nothingWanted, "remind me to {object} when i get home", "add {item} to my shopping list if there is none left",
			"if it rains remind me {time} to {object}", "unless i say otherwise remind me {time} to {object}", "remind me 15 minutes before my dentist appointment to {object}"),
		fixedWishes("german", nothingWanted, "erinnere mich {time} an {item}", "füge {item} zur einkaufsliste hinzu", "was steht {time} an?", "ich habe 20 euro für {item} ausgegeben", "lösche alle aufgaben", "bitte erinnere mich nicht"),
		fixedWishes("french", nothingWanted, "rappelle-moi demain à 18h de {object}", "ajoute {item} à ma liste", "j'ai dépensé 20 euros pour {item}", "quelles sont mes tâches?", "ne me rappelle rien"),
		fixedWishes("spanish", nothingWanted, "recuérdame mañana a las 10 {object}", "añade {item} a la lista", "gasté 20 euros en {item}", "qué tengo que hacer?", "no me recuerdes nada"),
	}
}

// addNoise adds fillers, changes case and makes at most one typo in a word with 5 letters or more.
func addNoise(r *rand.Rand, text string) string {
	text = pickOne(r, []string{"", "", "please ", "hey hob, ", "ok, ", "so ", "hi, "}) + text + pickOne(r, []string{"", "", "", " please", " thanks", "."})
	switch r.IntN(6) {
	case 0:
		text = strings.ToUpper(text[:1]) + text[1:]
	case 1:
		text = strings.ReplaceAll(text, "don't", "dont")
	case 2:
		words := strings.Fields(text)
		if i := slices.Index(words, pickOne(r, []string{"remind", "reminder", "shopping", "tomorrow"})); i >= 0 {
			w := []byte(words[i])
			j := 1 + r.IntN(len(w)-2)
			w[j], w[j-1] = w[j-1], w[j]
			words[i] = string(w)
			text = strings.Join(words, " ")
		}
	}
	return text
}

// isChange reports whether a planned call creates, changes or deletes a record.
func isChange(c call) bool {
	for _, head := range []string{"create_", "update_", "delete_", "cancel_", "complete_", "log_", "append_", "remember", "forget", "undo", "move_", "trash_", "write_"} {
		if strings.HasPrefix(c.name, head) {
			return true
		}
	}
	return false
}

// grade compares a plan with the wish: right, asked, missed or wrong.
func (x generatedWish) grade(p plan) string {
	changes := slices.DeleteFunc(slices.Clone(p.calls), func(c call) bool { return !isChange(c) })
	negated := x.class == "negation" && !slices.ContainsFunc(changes, func(c call) bool { return c.name != "cancel_reminder" })
	switch {
	case len(x.want) == 0 && (len(changes) == 0 || negated):
		return "right"
	case len(changes) == 0 && p.question != nil:
		return "asked"
	case len(changes) == 0:
		return "missed"
	case len(changes) != len(x.want) || p.question != nil:
		return "wrong"
	}
	for i, w := range x.want {
		got := changes[i]
		for _, key := range []string{"title", "text", "at", "due", "every", "project", "priority"} {
			have, want := fmt.Sprint(normal(got.args[key])), fmt.Sprint(normal(w.args[key]))
			if key == "at" {
				have = have[:min(len(have), len("2006-01-02T15:04"))]
				want = want[:min(len(want), len("2006-01-02T15:04"))]
			}
			if got.name != w.name || have != want {
				return "wrong"
			}
		}
	}
	return "right"
}

// cleanClasses are the classes in which no generated sentence may lead to a wrong action.
var cleanClasses = []string{"task", "negation", "question", "condition", "german", "french", "spanish"}

func TestGeneratedSentences(t *testing.T) {
	const each = 200
	g := New(testOptions("")).grammar()
	r := rand.New(rand.NewPCG(20, 2026))
	now := at(t).Truncate(time.Minute)
	for _, m := range wishMakers() {
		count := map[string]int{}
		var examples []string
		for range each {
			x := m.make(r)
			x.text = addNoise(r, x.text)
			p := g.planRequests(x.text, now, 0)
			grade := x.grade(p)
			count[grade]++
			if grade == "wrong" {
				examples = append(examples, x.text+" -> "+describe(p))
			}
		}
		t.Logf("%-14s right %d, asked %d, missed %d, wrong %d of %d", m.class, count["right"], count["asked"], count["missed"], count["wrong"], each)
		for _, e := range examples[:min(len(examples), 6)] {
			if slices.Contains(cleanClasses, m.class) {
				t.Errorf("%s: wrong action: %s", m.class, e)
			} else {
				t.Logf("    %s", e)
			}
		}
	}
}
