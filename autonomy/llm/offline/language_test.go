package offline

import (
	"strings"
	"testing"
)

var languageCodes = []string{"de", "es", "fr"}

// TestLanguageCorpora checks the sentences in testdata/languages, which have the form of corpus.tsv.
func TestLanguageCorpora(t *testing.T) {
	b := New(testOptions(""))
	for _, code := range languageCodes {
		samples := readCorpus(t, "testdata/languages/"+code+".tsv")
		if len(samples) < 120 {
			t.Errorf("%s has %d sentences, want at least 120", code, len(samples))
		}
		for _, s := range samples {
			t.Run(code+"/"+s.sentence, func(t *testing.T) {
				if wrong := s.checkAnswer(t, b); wrong != "" {
					t.Errorf("line %d: %s", s.line, wrong)
				}
				p := b.grammar().planRequests(s.sentence, corpusTime(t), 0)
				if p.lang == nil || p.lang.code != code {
					t.Errorf("line %d is not recognized as %s", s.line, code)
				}
			})
		}
	}
}

// TestAccentsAreOptional reads each sentence without accents; the records may only differ in their
// texts.
func TestAccentsAreOptional(t *testing.T) {
	g := New(testOptions("")).grammar()
	for _, code := range languageCodes {
		for _, s := range readCorpus(t, "testdata/languages/"+code+".tsv") {
			a, b := g.planRequests(s.sentence, corpusTime(t), 0), g.planRequests(foldText(s.sentence), corpusTime(t), 0)
			if foldText(describePlan(a)) != foldText(describePlan(b)) && len(a.calls) > 0 {
				t.Errorf("%q: %s, without accents %s", s.sentence, describePlan(a), describePlan(b))
			}
		}
	}
}

func TestLanguageDialogues(t *testing.T) {
	tests := []struct {
		said  []string // all but the last must be answered with a question
		want  []string // calls for the last message
		reply string   // a part of the last answer
	}{
		{[]string{"erinnere mich an die Milch", "morgen um 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"Milch"}`}, ""},
		{[]string{"erinnere mich morgen an die Milch", "um 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"Milch"}`}, ""},
		{[]string{"erinnere mich morgen an die Milch", "9 Uhr"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"Milch"}`}, ""},
		{[]string{"erinnere mich morgen an die Milch", "halb zehn"}, []string{`create_reminder{"at":"2026-03-05T09:30:00+02:00","text":"Milch"}`}, ""},
		{[]string{"erinnere mich an die Milch", "18"}, []string{`create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"Milch"}`}, ""},
		{[]string{"erinnere mich", "an die Milch", "in 20 Minuten"}, []string{`create_reminder{"at":"2026-03-04T10:35:00+02:00","text":"Milch"}`}, ""},
		{[]string{"erinnere mich morgen um 9", "Zahnarzt"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"Zahnarzt"}`}, ""},
		{[]string{"erinnere mich morgen um 6 an den Zug", "morgens"}, []string{`create_reminder{"at":"2026-03-05T06:00:00+02:00","text":"Zug"}`}, ""},
		{[]string{"erinnere mich morgen um 6 an den Zug", "um 18 Uhr"}, []string{`create_reminder{"at":"2026-03-05T18:00:00+02:00","text":"Zug"}`}, ""},
		{[]string{"erinnere mich morgen um 6 an den Zug", "das erste"}, []string{`create_reminder{"at":"2026-03-05T06:00:00+02:00","text":"Zug"}`}, ""},
		{[]string{"erinnere mich nächsten Freitag um 10 an den Arzt", "den 13."}, []string{`create_reminder{"at":"2026-03-13T10:00:00+02:00","text":"Arzt"}`}, ""},
		{[]string{"erinnere mich nächsten Freitag um 10 an den Arzt", "die erste"}, []string{`create_reminder{"at":"2026-03-06T10:00:00+02:00","text":"Arzt"}`}, ""},
		{[]string{"neue Aufgabe", "Bank anrufen"}, []string{`create_task{"title":"Bank anrufen"}`}, ""},
		{[]string{"lösche eine Erinnerung", "Zahnarzt"}, []string{`cancel_reminder{"reminder":"Zahnarzt"}`}, ""},
		{[]string{"rappelle-moi d'acheter du lait", "demain à 9h"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"acheter du lait"}`}, ""},
		{[]string{"rappelle-moi demain d'acheter du lait", "9h30"}, []string{`create_reminder{"at":"2026-03-05T09:30:00+02:00","text":"acheter du lait"}`}, ""},
		{[]string{"rappelle-moi", "d'acheter du lait", "dans 20 minutes"}, []string{`create_reminder{"at":"2026-03-04T10:35:00+02:00","text":"acheter du lait"}`}, ""},
		{[]string{"rappelle-moi demain à 6h de partir", "du matin"}, []string{`create_reminder{"at":"2026-03-05T06:00:00+02:00","text":"partir"}`}, ""},
		{[]string{"rappelle-moi vendredi prochain à 10h d'appeler Paul", "le 13"}, []string{`create_reminder{"at":"2026-03-13T10:00:00+02:00","text":"appeler Paul"}`}, ""},
		{[]string{"ajoute une tâche", "appeler la banque"}, []string{`create_task{"title":"appeler la banque"}`}, ""},
		{[]string{"rappelle-moi d'acheter du lait", "non"}, nil, "rien changé"},
		{[]string{"recuérdame comprar leche", "mañana a las 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"comprar leche"}`}, ""},
		{[]string{"recuérdame mañana comprar leche", "a las 9 y media"}, []string{`create_reminder{"at":"2026-03-05T09:30:00+02:00","text":"comprar leche"}`}, ""},
		{[]string{"recuérdame", "comprar leche", "en 20 minutos"}, []string{`create_reminder{"at":"2026-03-04T10:35:00+02:00","text":"comprar leche"}`}, ""},
		{[]string{"recuérdame mañana a las 6 salir", "de la mañana"}, []string{`create_reminder{"at":"2026-03-05T06:00:00+02:00","text":"salir"}`}, ""},
		{[]string{"recuérdame el próximo viernes a las 10 llamar a Pablo", "el segundo"}, []string{`create_reminder{"at":"2026-03-13T10:00:00+02:00","text":"llamar a Pablo"}`}, ""},
		{[]string{"añade una tarea", "llamar al banco"}, []string{`create_task{"title":"llamar al banco"}`}, ""},
		{[]string{"recuérdame comprar leche", "no"}, nil, "No he cambiado nada"},
		{[]string{"erinnere mich an die Milch", "nein"}, nil, "nichts geändert"},
		{[]string{"erinnere mich an die Milch", "ich mag Schokolade"}, nil, "Wann soll ich"},
		{[]string{"erinnere mich an die Milch", "was steht auf der Einkaufsliste?"}, []string{`list_tasks{"project":"shopping list"}`}, ""},
		{[]string{"erinnere mich an die Milch", "ja"}, nil, "keine Antwort"},
	}
	for _, tc := range tests {
		t.Run(strings.Join(tc.said, "/"), func(t *testing.T) {
			c := newConversation(t)
			for _, s := range tc.said[:len(tc.said)-1] {
				if calls := c.hearText(s); len(calls) > 0 || !strings.HasSuffix(strings.TrimSpace(c.lastText()), "?") {
					t.Fatalf("%q led to no question: calls %v, reply %q", s, calls, c.lastText())
				}
			}
			expectCalls(t, c.hearText(tc.said[len(tc.said)-1]), tc.want...)
			if !strings.Contains(c.lastText(), tc.reply) {
				t.Errorf("reply = %q", c.lastText())
			}
		})
	}
}

// TestLanguageFollowUps checks messages that refer to a record of the conversation.
func TestLanguageFollowUps(t *testing.T) {
	tests := []struct {
		first, result, reply, second string
		want                         []string
	}{
		{
			"erinnere mich morgen um 9 an den Zahnarzt", "I will remind you tomorrow at 09:00: Zahnarzt.", "Ich erinnere dich morgen um 09:00: Zahnarzt.",
			"nein, lieber um 10",
			[]string{`update_reminder{"at":"10:00","reminder":"Zahnarzt"}`},
		},
		{
			"erinnere mich morgen um 9 an den Zahnarzt", "I will remind you tomorrow at 09:00: Zahnarzt.", "Ich erinnere dich morgen um 09:00: Zahnarzt.",
			"verschieb sie auf Freitag",
			[]string{`update_reminder{"at":"2026-03-06","reminder":"Zahnarzt"}`},
		},
		{
			"erinnere mich jeden Montag um 9 an den Müll", "I will remind you every Monday at 09:00: Müll. Next: Mon 9 Mar at 09:00.", "Ich erinnere dich jeden Montag um 09:00: Müll. Nächstes Mal: Mo. 9. März um 09:00.",
			"lösch sie wieder",
			[]string{`cancel_reminder{"reminder":"Müll"}`},
		},
		{
			"neue Aufgabe: Bank anrufen bis Freitag", `Added task "Bank anrufen", due Fri 6 Mar.`, "Aufgabe hinzugefügt: „Bank anrufen“, fällig Fr. 6. März.",
			"erledigt",
			[]string{`complete_task{"task":"Bank anrufen"}`},
		},
		{
			"rappelle-moi demain à 9h le dentiste", "I will remind you tomorrow at 09:00: le dentiste.", "Je te le rappellerai demain à 09:00 : le dentiste.",
			"non, plutôt à 10h",
			[]string{`update_reminder{"at":"10:00","reminder":"le dentiste"}`},
		},
		{
			"ajoute du lait à ma liste de courses", `Added task "lait", project shopping list.`, "Tâche ajoutée : « lait », liste de courses.",
			"annule ça",
			[]string{`undo{}`},
		},
		{
			"recuérdame cada lunes a las 9 sacar la basura", "I will remind you every Monday at 09:00: sacar la basura. Next: Mon 9 Mar at 09:00.", "Te lo recordaré cada lunes a las 09:00: sacar la basura. Próxima vez: lun 9 de marzo a las 09:00.",
			"bórralo",
			[]string{`cancel_reminder{"reminder":"sacar la basura"}`},
		},
		{
			"nueva tarea: llamar al banco para el viernes", `Added task "llamar al banco", due Fri 6 Mar.`, "Tarea añadida: «llamar al banco», para vie 6 de marzo.",
			"ya está hecho",
			[]string{`complete_task{"task":"llamar al banco"}`},
		},
		{
			"meine Aufgaben", "2 open tasks:\n- Bank anrufen (due tomorrow, high priority)\n- Milch (project shopping list)", "2 offene Aufgaben:\n- Bank anrufen (fällig morgen, hohe Priorität)\n- Milch (Einkaufsliste)",
			"danke", nil,
		},
	}
	for _, tc := range tests {
		t.Run(tc.first+"/"+tc.second, func(t *testing.T) {
			c := newConversation(t)
			c.hearText(tc.first)
			c.answerCalls(tc.result)
			if c.lastText() != tc.reply {
				t.Errorf("reply = %q, want %q", c.lastText(), tc.reply)
			}
			expectCalls(t, c.hearText(tc.second), tc.want...)
		})
	}
}

func TestLocalFacts_AnswerWithTheUsersWords(t *testing.T) {
	tests := []struct{ question, recalled, noted, want string }{
		{"wie heißt meine Frau?", "I remember:\n- meine Frau heißt Anna (you told me today)\n- meine Frau wohnt in Köln (you told me today)", "", "Du hast mir gesagt: „meine Frau heißt Anna“."},
		{"wie heißt meine Frau?", "I remember: die Schwester meiner Frau heißt Eva (you told me today).", "", "Dazu hast du mir noch nichts gesagt."},
		{"wie heißt meine Frau?", `I remember nothing about "Frau".`, "What I know about \"Frau\":\n- note: meine Frau Anna heißt (today)", "Du hast mir gesagt: „meine Frau Anna heißt“."},
		{"où habite ma sœur ?", "I remember: ma sœur habite à Lyon (you told me today).", "", "Tu m'as dit : « ma sœur habite à Lyon »."},
		{"¿cuándo es el cumpleaños de Ana?", "I remember: el cumpleaños de Ana es el 3 de mayo (you told me today).", "", "Me dijiste: «el cumpleaños de Ana es el 3 de mayo»."},
		{"¿cómo se llama mi mujer?", `I remember nothing about "mujer".`, "", "Todavía no me has dicho nada sobre eso."},
	}
	for _, tc := range tests {
		c := newConversation(t)
		c.hearText(tc.question)
		if tc.noted == "" {
			tc.noted = "I found nothing about that in facts, notes, tasks or expenses."
		}
		got := c.answerCalls(tc.recalled, tc.noted)
		if got.Text() != tc.want {
			t.Errorf("%s: %q, want %q", tc.question, got.Text(), tc.want)
		}
	}
}
