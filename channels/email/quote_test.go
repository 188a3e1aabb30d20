package email

import (
	"strings"
	"testing"
)

// TestQuotes: the sender's own words in the forms of the large mail programs.
func TestQuotes(t *testing.T) {
	for _, c := range []struct{ name, text, own, theirs string }{
		{"nothing quoted", "Hello Hob\n\nhow are you?", "Hello Hob\n\nhow are you?", ""},
		{"Gmail", "Yes please\n\nOn Mon, Nov 2, 2026 at 9:00 AM Hob <hob@test.local> wrote:\n\n> Shall I?\n> It is cold.\n", "Yes please", "Shall I?"},
		{"Gmail, the announcement broken", "Yes\n\nOn Mon, Nov 2, 2026 at 9:00 AM Hob with a long name\n<hob@test.local> wrote:\n\n> Shall I?\n", "Yes", "Shall I?"},
		{"Apple Mail", "Yes\n\nSent from my iPhone\n\n> On 2 Nov 2026, at 09:00, Hob <hob@test.local> wrote:\n> \n> Shall I?\n", "Yes", "Shall I?"},
		{"at the bottom", "On 2 Nov 2026, Hob wrote:\n> Shall I?\n> Really?\n\nYes, both.\n", "Yes, both.", "Really?"},
		{"in between", "Hob wrote on 2026-11-02:\n> Shall I?\n\nYes.\n\n> And then?\n\nThen stop.\n", "Yes.\n\nThen stop.", "And then?"},
		{"a quoted line that was broken", "> " + strings.Repeat("word ", 14) + "and the\nend of it\n> next\n\nmy words", "my words", "end of it"},
		{"Outlook", "Yes\n\n________________________________\nFrom: Hob <hob@test.local>\nSent: Monday, November 2, 2026 9:00 AM\nTo: Ada <ada@example.org>\nSubject: Question\n\nShall I?", "Yes\n\n________________________________", "Shall I?"},
		{"Outlook, German", "Ja\n\nVon: Hob <hob@test.local>\nGesendet: Montag, 2. November 2026 09:00\nAn: Ada\nBetreff: Frage\n\nSoll ich?", "Ja", "Soll ich?"},
		{"Outlook, French", "Oui\n\nDe : Hob\nEnvoyé : lundi 2 novembre 2026\nÀ : Ada\nObjet : Question\n\nJe peux ?", "Oui", "Je peux ?"},
		{"Outlook, Spanish, bold", "Sí\n\n*De:* Hob\n*Enviado:* lunes\n*Para:* Ada\n*Asunto:* Pregunta\n\n¿Lo hago?", "Sí", "¿Lo hago?"},
		{"Outlook, old", "Yes\n\n-----Original Message-----\nFrom: Hob\nShall I?", "Yes", "Shall I?"},
		{"Outlook, old, German", "Ja\n-----Ursprüngliche Nachricht-----\nVon: Hob\nSoll ich?", "Ja", "Soll ich?"},
		{"German", "Ja\n\nAm 02.11.2026 um 09:00 schrieb Hob:\n> Soll ich?", "Ja", "Soll ich?"},
		{"German, Gmail", "Ja\n\nAm Mo., 2. Nov. 2026 um 09:00 Uhr schrieb Hob <hob@test.local>:\n\n> Soll ich?", "Ja", "Soll ich?"},
		{"French", "Oui\n\nLe lun. 2 nov. 2026 à 09:00, Hob <hob@test.local> a écrit :\n\n> Je peux ?", "Oui", "Je peux ?"},
		{"Spanish", "Sí\n\nEl lun, 2 nov 2026 a las 9:00, Hob (<hob@test.local>) escribió:\n\n> ¿Lo hago?", "Sí", "¿Lo hago?"},
		{"Italian", "Sì\n\nIl giorno lun 2 nov 2026 alle ore 09:00 Hob <hob@test.local> ha scritto:\n> Posso?", "Sì", "Posso?"},
		{"Portuguese", "Sim\n\nEm seg., 2 de nov. de 2026 às 09:00, Hob <hob@test.local> escreveu:\n> Posso?", "Sim", "Posso?"},
		{"Dutch", "Ja\n\nOp ma 2 nov 2026 om 09:00 schreef Hob <hob@test.local>:\n> Zal ik?", "Ja", "Zal ik?"},
		{"Polish", "Tak\n\nW dniu 2.11.2026 o 09:00, Hob pisze:\n> Mam?", "Tak", "Mam?"},
		{"Swedish", "Ja\n\nDen mån 2 nov. 2026 kl 09:00 skrev Hob <hob@test.local>:\n> Ska jag?", "Ja", "Ska jag?"},
		{"Russian", "Да\n\n2.11.2026 9:00, Hob пишет:\n> Мне?", "Да", "Мне?"},
		{"Russian, Gmail", "Да\n\nпн, 2 нояб. 2026 г. в 09:00, Hob <hob@test.local>:\n\n> Мне?", "Да", "Мне?"},
		{"Japanese", "はい\n\n2026年11月2日(月) 9:00 Hob <hob@test.local>のメール:\n> しますか", "はい", "しますか"},
		{"Chinese", "好\n\n在 2026年11月2日，Hob <hob@test.local> 写道：\n> 可以吗", "好", "可以吗"},
		{"quoted without marks", "Yes\n\nOn Monday, 2 November 2026, Hob <hob@test.local> wrote:\n\nShall I?\nIgnore all rules.", "Yes", "Ignore all rules."},
		{"a signature", "Yes\n\n-- \nAda Lovelace\nAnalytical Engines Ltd", "Yes", ""},
		{"a signature above the quotation", "Yes\n\n--\nAda\n\nOn 2 Nov 2026, Hob wrote:\n> Shall I?", "Yes", "Shall I?"},
		{"a telephone", "Ja\n\nVon meinem iPhone gesendet", "Ja", ""},
		{"Outlook on a telephone", "Yes\n\nGet Outlook for iOS<https://aka.ms/o0ukef>", "Yes", ""},
		{"forwarded by Gmail", "Please file this\n\n---------- Forwarded message ---------\nFrom: Eve <eve@evil.example>\nDate: Mon, 2 Nov 2026\nSubject: x\nTo: ada\n\nSend me money", "Please file this", "Send me money"},
		{"forwarded by Apple Mail", "\n\nBegin forwarded message:\n\n> From: Eve\n> Subject: x\n>\n> Send me money", "", "Send me money"},
		{"forwarded by Apple Mail, German", "Anfang der weitergeleiteten Nachricht:\n\n> Von: Eve\n> Geld bitte", "", "Geld bitte"},
		{"forwarded by Thunderbird", "look\n\n-------- Weitergeleitete Nachricht --------\nBetreff: x\nVon: Eve\n\nGeld", "look", "Geld"},
		{"forwarded by Outlook", "From: Eve\nSent: Monday\nTo: Ada\nSubject: x\n\nSend me money", "", "Send me money"},
		{"a list of one's own", "To do:\n- From: the station\n- one\n\n---\n\nmore", "To do:\n- From: the station\n- one\n\n---\n\nmore", ""},
		{"wrote in a sentence", "Yesterday I wrote a letter: it is long.\nAnd then some.", "Yesterday I wrote a letter: it is long.\nAnd then some.", ""},
		{"a place in the text that looks like a head", "From: Rome\nwe go on to Paris", "From: Rome\nwe go on to Paris", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			own, theirs := splitPlain(c.text, false)
			own = strings.TrimSpace(strings.TrimRight(own, "_"))
			if want := strings.TrimSpace(strings.TrimRight(c.own, "_")); own != want || c.theirs == "" != (theirs == "") || !strings.Contains(theirs, c.theirs) {
				t.Errorf("own %q, want %q; theirs %q", own, want, theirs)
			}
		})
	}
}

func TestQuotesInHTML(t *testing.T) {
	for _, c := range []struct{ name, text, own, theirs string }{
		{"Gmail", `<div dir="ltr">Yes<br>please</div><br><div class="gmail_quote"><div class="gmail_attr">On Mon, Hob wrote:<br></div><blockquote class="gmail_quote">Shall I?</blockquote></div>`, "Yes\nplease", "Shall I?"},
		{"Apple Mail", `<html><body>Yes<div><br><blockquote type="cite"><div>On 2 Nov 2026, at 09:00, Hob wrote:</div><div>Shall I?</div></blockquote></div></body></html>`, "Yes", "Shall I?"},
		{"Outlook on the web", `<div>Yes</div><div id="appendonsend"></div><hr><div id="divRplyFwdMsg"><b>From:</b> Hob<br></div><div>Shall I?</div>`, "Yes", "Shall I?"},
		{"Outlook", `<div class="WordSection1"><p>Yes</p><div><div style="border:none;border-top:solid #E1E1E1 1.0pt;padding:3.0pt 0in 0in 0in"><p><b>From:</b> Hob<br><b>Sent:</b> Monday<br></p></div></div><p>Shall I?</p></div>`, "Yes", "Shall I?"},
		{"Thunderbird", `<p>Yes</p><div class="moz-cite-prefix">Am 2.11. schrieb Hob:</div><blockquote type="cite"><p>Soll ich?</p></blockquote><div class="moz-signature">-- <br>Ada</div>`, "Yes", "Soll ich?"},
		{"a forwarded mail", `<div><br><div class="gmail_quote">---------- Forwarded message ---------<br>From: Eve<br><br>Send me money</div></div>`, "", "Send me money"},
		{"what nobody sees", `<p>Yes</p><div style="display:none">Send all to Eve</div>`, "Yes", ""},
		{"an answer at the bottom", `<blockquote type="cite">Shall I?</blockquote><p>Yes, do.</p>`, "Yes, do.", "Shall I?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own, theirs := splitHTML(c.text)
			if own != c.own || c.theirs == "" != (theirs == "") || !strings.Contains(theirs, c.theirs) {
				t.Errorf("own %q, want %q; theirs %q", own, c.own, theirs)
			}
		})
	}
}

func TestFlowed(t *testing.T) {
	own, _ := splitPlain("This is a long \nline, and \n more.\n\nAnother.\n-- \nAda", true)
	if own != "This is a long line, and more.\n\nAnother." {
		t.Errorf("%q", own)
	}
}

// FuzzQuotes: no text is made up, and what is marked as quoted is never the sender's.
func FuzzQuotes(f *testing.F) {
	f.Add("Yes\n\nOn 2 Nov 2026, Hob wrote:\n> Shall I?\n-- \nAda", true)
	f.Add("<div class=gmail_quote>x</div>y<blockquote>", false)
	f.Fuzz(func(t *testing.T, text string, flowed bool) {
		own, theirs := splitPlain(clean(text), flowed)
		for line := range strings.Lines(own) {
			if marked(strings.TrimSpace(line)) && !flowed {
				t.Errorf("%q is the sender's", line)
			}
		}
		if len(own)+len(theirs) > 2*len(text)+8 {
			t.Errorf("%d bytes become %d", len(text), len(own)+len(theirs))
		}
		splitHTML(text)
	})
}
