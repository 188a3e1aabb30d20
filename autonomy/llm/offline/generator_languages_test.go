package offline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// languageTemplates describes sentences of a language. {time}, {thing}, {action} and {item} are
// filled in; the records have the second form of an action.
type languageTemplates struct {
	class                            string
	times                            []timePhrase
	things, items                    []string
	actions                          [][2]string // as in the sentence, as in the record
	remindThing, remindAction, tasks []string
	lists, nothing, fillers, typos   []string
}

var german = languageTemplates{
	class: "german",
	times: []timePhrase{
		{"um 18 Uhr", "2026-03-04T18:00"},
		{"um 17:30", "2026-03-04T17:30"},
		{"morgen um 9", "2026-03-05T09:00"},
		{"morgen um 9 Uhr", "2026-03-05T09:00"},
		{"morgen um halb zehn", "2026-03-05T09:30"},
		{"übermorgen um 15 Uhr", "2026-03-06T15:00"},
		{"am Freitag um 15 Uhr", "2026-03-06T15:00"},
		{"heute Abend um 8", "2026-03-04T20:00"},
		{"in 20 Minuten", "2026-03-04T10:35"},
		{"in einer halben Stunde", "2026-03-04T10:45"},
		{"in zwei Stunden", "2026-03-04T12:15"},
		{"am 12. März um 10 Uhr", "2026-03-12T10:00"},
		{"um viertel nach 4", "2026-03-04T16:15"},
		{"morgen früh um 8", "2026-03-05T08:00"},
		{"am 12.3. um 10:00", "2026-03-12T10:00"},
		{"um Viertel vor acht abends", "2026-03-04T19:45"},
	},
	things:       []string{"Zahnarzt", "Müll", "Elternabend", "Rechnung", "Geburtstag von Tom", "Medikamente", "Wäsche"},
	actions:      [][2]string{{"Mama anzurufen", "Mama anrufen"}, {"Milch zu kaufen", "Milch kaufen"}, {"die Blumen zu gießen", "die Blumen gießen"}, {"das Paket abzuholen", "das Paket abholen"}, {"Tom wegen der Rechnung zu schreiben", "Tom wegen der Rechnung schreiben"}},
	items:        []string{"Milch", "Eier", "Olivenöl", "Tomaten", "Hundefutter", "Brot"},
	remindThing:  []string{"erinnere mich {time} an {thing}", "erinner mich bitte {time} an {thing}", "kannst du mich {time} an {thing} erinnern", "erinnern Sie mich {time} an {thing}", "Erinnerung {time}: {thing}", "{time} bitte an {thing} erinnern", "ich möchte {time} an {thing} erinnert werden"},
	remindAction: []string{"erinnere mich {time} daran, {action}", "kannst du mich bitte {time} daran erinnern, {action}?", "erinnere mich daran, {time} {action}", "lass mich nicht vergessen, {time} {action}", "vergiss nicht, mich {time} daran zu erinnern, {action}"},
	tasks:        []string{"neue Aufgabe: {action}", "Aufgabe {action}", "ich muss noch {action}", "setz {action} auf meine Aufgabenliste"},
	lists:        []string{"füge {item} zur Einkaufsliste hinzu", "setz {item} auf die Einkaufsliste", "Einkaufsliste: {item}", "kannst du {item} auf den Einkaufszettel schreiben"},
	nothing: []string{
		"erinnere mich nicht an {thing}", "erinnere mich {time} nicht an {thing}", "füge {item} nicht zur Einkaufsliste hinzu", "ich habe keine 20 Euro für {item} ausgegeben", "muss ich {time} arbeiten?",
		"habe ich {item} schon gekauft?", "was kostet {item}?", "lösche alle Aufgaben", "erinnere mich an {thing}, wenn ich zuhause bin", "erinnere mich 10 Minuten vor dem Termin an {thing}", "setz kein {item} auf die Einkaufsliste", "ich mag {item}",
		"erinnere mich at 6pm an {thing}", "erinnere mich to buy milk tomorrow", "ich will {time} nicht an {thing} erinnert werden", "wann ist {thing}?", "falls es regnet, erinnere mich {time} an {thing}",
	},
	fillers: []string{"", "", "bitte ", "hey hob, ", "ok, ", "hallo, "},
	typos:   []string{"erinnere", "morgen", "Einkaufsliste", "Aufgabe", "Freitag", "Minuten", "übermorgen"},
}

var french = languageTemplates{
	class: "french",
	times: []timePhrase{
		{"à 18h", "2026-03-04T18:00"},
		{"à 17h30", "2026-03-04T17:30"},
		{"demain à 9h", "2026-03-05T09:00"},
		{"demain à 9 heures et demie", "2026-03-05T09:30"},
		{"après-demain à 15h", "2026-03-06T15:00"},
		{"vendredi à 15h", "2026-03-06T15:00"},
		{"ce soir à 20h", "2026-03-04T20:00"},
		{"dans 20 minutes", "2026-03-04T10:35"},
		{"dans une demi-heure", "2026-03-04T10:45"},
		{"dans deux heures", "2026-03-04T12:15"},
		{"le 12 mars à 10h", "2026-03-12T10:00"},
		{"demain matin à 8h", "2026-03-05T08:00"},
		{"à huit heures moins le quart du soir", "2026-03-04T19:45"},
		{"le 12/03 à 10h", "2026-03-12T10:00"},
		{"demain à midi", "2026-03-05T12:00"},
	},
	things:       []string{"la réunion", "le dentiste", "les courses", "l'anniversaire de Paul", "mon rendez-vous", "les poubelles"},
	actions:      [][2]string{{"appeler maman", "appeler maman"}, {"acheter du lait", "acheter du lait"}, {"sortir le chien", "sortir le chien"}, {"écrire à Paul", "écrire à Paul"}, {"payer le loyer", "payer le loyer"}},
	items:        []string{"lait", "œufs", "beurre", "tomates", "croquettes", "pain"},
	remindThing:  []string{"rappelle-moi {time} {thing}", "peux-tu me rappeler {thing} {time} ?", "rappelez-moi {time} {thing}", "rappel {time} : {thing}", "{time} rappelle-moi {thing}", "je voudrais que tu me rappelles {time} {thing}"},
	remindAction: []string{"rappelle-moi {time} de {action}", "pourrais-tu me rappeler {time} de {action} ?", "rappelle-moi de {action} {time}", "ne me laisse pas oublier de {action} {time}", "n'oublie pas de me rappeler {time} de {action}", "rappelle-moi {time} que je dois {action}"},
	tasks:        []string{"nouvelle tâche : {action}", "ajoute une tâche : {action}", "je dois {action}", "ajoute {action} à ma liste de tâches"},
	lists:        []string{"ajoute du {item} à ma liste de courses", "mets {item} sur la liste de courses", "liste de courses : {item}", "peux-tu ajouter {item} à la liste de courses"},
	nothing: []string{
		"ne me rappelle pas de {action}", "ne me rappelle pas {time} de {action}", "n'ajoute pas de {item} à ma liste de courses", "je n'ai pas dépensé 20 euros pour du {item}", "est-ce que je dois travailler {time} ?",
		"combien coûte le {item} ?", "supprime toutes les tâches", "rappelle-moi de {action} quand je rentre", "rappelle-moi 10 minutes avant la réunion de {action}", "j'aime le {item}",
		"rappelle-moi at 6pm de {action}", "rappelle-moi to buy milk tomorrow", "je ne veux pas que tu me rappelles {thing}", "quand est {thing} ?", "s'il pleut, rappelle-moi {time} de {action}",
	},
	fillers: []string{"", "", "s'il te plaît ", "hey hob, ", "ok, ", "bonjour, "},
	typos:   []string{"rappelle-moi", "demain", "courses", "tâche", "vendredi", "minutes", "après-demain"},
}

var spanish = languageTemplates{
	class: "spanish",
	times: []timePhrase{
		{"a las 18:00", "2026-03-04T18:00"},
		{"a las 17:30", "2026-03-04T17:30"},
		{"mañana a las 9", "2026-03-05T09:00"},
		{"mañana a las nueve y media", "2026-03-05T09:30"},
		{"pasado mañana a las 15:00", "2026-03-06T15:00"},
		{"el viernes a las 15:00", "2026-03-06T15:00"},
		{"esta noche a las 8", "2026-03-04T20:00"},
		{"en 20 minutos", "2026-03-04T10:35"},
		{"en media hora", "2026-03-04T10:45"},
		{"dentro de dos horas", "2026-03-04T12:15"},
		{"el 12 de marzo a las 10", "2026-03-12T10:00"},
		{"mañana por la mañana a las 8", "2026-03-05T08:00"},
		{"a las ocho menos cuarto de la tarde", "2026-03-04T19:45"},
		{"el 12/03 a las 10:00", "2026-03-12T10:00"},
		{"mañana al mediodía", "2026-03-05T12:00"},
	},
	things:       []string{"la reunión", "el dentista", "la compra", "el cumpleaños de Pablo", "mi cita", "la basura"},
	actions:      [][2]string{{"llamar a mamá", "llamar a mamá"}, {"comprar leche", "comprar leche"}, {"sacar al perro", "sacar al perro"}, {"escribir a Pablo", "escribir a Pablo"}, {"pagar el alquiler", "pagar el alquiler"}},
	items:        []string{"leche", "huevos", "mantequilla", "tomates", "manzanas", "pan"},
	remindThing:  []string{"recuérdame {time} {thing}", "¿puedes recordarme {thing} {time}?", "recuérdeme {time} {thing}", "recordatorio {time}: {thing}", "{time} recuérdame {thing}", "quiero que me recuerdes {time} {thing}"},
	remindAction: []string{"recuérdame {time} {action}", "¿podrías recordarme {time} {action}?", "recuérdame {action} {time}", "no me dejes olvidar {action} {time}", "no olvides recordarme {time} {action}", "recuérdame {time} que tengo que {action}"},
	tasks:        []string{"nueva tarea: {action}", "añade una tarea: {action}", "tengo que {action}", "añade {action} a mi lista de tareas"},
	lists:        []string{"añade {item} a la lista de la compra", "pon {item} en la lista de la compra", "lista de la compra: {item}", "¿puedes agregar {item} a la lista de compras?"},
	nothing: []string{
		"no me recuerdes {action}", "no me recuerdes {time} {action}", "no añadas {item} a la lista de la compra", "no gasté 20 euros en {item}", "¿tengo que trabajar {time}?",
		"¿cuánto cuesta {item}?", "borra todas las tareas", "recuérdame {action} cuando llegue a casa", "recuérdame 10 minutos antes de la reunión {action}", "me gusta {item}",
		"recuérdame at 6pm {action}", "recuérdame to buy milk tomorrow", "no quiero que me recuerdes {thing}", "¿cuándo es {thing}?", "si llueve, recuérdame {time} {action}",
	},
	fillers: []string{"", "", "por favor ", "oye hob, ", "ok, ", "hola, "},
	typos:   []string{"recuérdame", "mañana", "compra", "tarea", "viernes", "minutos", "pasado"},
}

// makeWish makes a sentence of the language, sometimes with a typo.
func (l languageTemplates) makeWish(r *rand.Rand) generatedRequest {
	at, thing, item, action := pickOne(r, l.times), pickOne(r, l.things), pickOne(r, l.items), pickOne(r, l.actions)
	fill := func(forms []string, action string) string {
		return pickOne(r, l.fillers) + strings.NewReplacer("{time}", at.words, "{thing}", thing, "{action}", action, "{item}", item).Replace(pickOne(r, forms))
	}
	x := generatedRequest{class: l.class}
	switch r.IntN(5) {
	case 0:
		x.text, x.want = fill(l.remindThing, ""), []call{reminderCall(thing, at)}
	case 1:
		x.text, x.want = fill(l.remindAction, action[0]), []call{reminderCall(action[1], at)}
	case 2:
		x.text, x.want = fill(l.tasks, action[1]), []call{taskCall(action[1], "", "")}
	case 3:
		x.text, x.want = fill(l.lists, ""), []call{taskCall(item, "", "shopping list")}
	default:
		x.text = fill(l.nothing, "")
	}
	switch r.IntN(4) {
	case 0:
		x.text = strings.ToLower(x.text)
	case 1:
		words := strings.Fields(x.text)
		if i := slices.Index(words, pickOne(r, l.typos)); i >= 0 {
			w := []rune(words[i])
			j := 1 + r.IntN(len(w)-2)
			w[j], w[j+1] = w[j+1], w[j]
			words[i] = string(w)
			x.text = strings.Join(words, " ")
		}
	}
	return x
}

func TestGeneratedLanguages(t *testing.T) {
	const each = 300
	g := New(testOptions("")).grammar()
	now := corpusTime(t).Truncate(time.Minute)
	for _, l := range []languageTemplates{german, french, spanish} {
		r := rand.New(rand.NewPCG(20, 2026))
		count := map[string]int{}
		for range each {
			x := l.makeWish(r)
			p := g.planRequests(x.text, now, 0)
			grade := x.gradePlan(p)
			if count[grade]++; grade == "wrong" {
				t.Errorf("%s: wrong action: %s -> %s", l.class, x.text, describePlan(p))
			}
		}
		t.Logf("%s: right %d, asked %d, missed %d, wrong %d of %d", l.class, count["right"], count["asked"], count["missed"], count["wrong"], each)
		if count["right"] < each*9/10 {
			t.Errorf("%s: right %d of %d, want at least 90 %%", l.class, count["right"], each)
		}
	}
}
