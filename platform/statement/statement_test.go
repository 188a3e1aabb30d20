package statement

import (
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, s := range []string{
		"my sister's birthday is on 3 May", "Kestrel-9981 is the wifi password of the cabin", "the cabin wifi password is now Heron-1234",
		"my favorite colour is blue", "My sister Ana lives in Vilnius and works at Initech", "Ana moved to Kaunas", "I no longer work at Initech", "I work at Globex now",
		"I don't live in Vilnius any more", "We have moved from Vilnius to Kaunas", "Actually, the spare key is in the drawer", "I meant Kaunas, not Vilnius",
		"I prefer coffee to tea", "I prefer window seats", "I switched from Swedbank to Luminor", "I used to drive a Volvo, but now I drive a Skoda",
		"The meeting was moved from Tuesday to Thursday", "The meeting is on Friday at 10", "The dentist appointment is cancelled", "Ana is my sister", "My wife is called Eva",
		"Ich wohne in Berlin", "J'habite à Paris", "Vivo en Madrid", "Abito a Roma", "Gyvenu Vilniuje", "Mieszkam w Krakowie", "Mein Geburtstag ist am 3. Mai",
		"I live in Paris until June", "My brother has lived in Leipzig since 2019", "From Monday I work at Globex", "I am 180 cm tall", "I'm allergic to nuts", "Ana's husband Tom drives a red car",
		"My phone number is 2 and my email is a@b.c", "I sold my Volvo", "It's not 3 May but 4 May", "She said that Ana lives in Rome", "If I live in Rome", "my new phone number is +370 600 12345",
		"Tom is married to Eva", "I replaced the Volvo with a Skoda", "my sister lives in Riga, not in Vilnius", "I drive a Skoda instead of the Volvo", "I have another daughter called Mia", "My GP is Dr. Weiss",
		"Invoice-4711.pdf is paid", "the rent is 800 euros", "The gym costs 30 euros a month",
	} {
		t.Logf("%s", s)
		for _, x := range Read(s, now) {
			t.Logf("      [%s|role %s|name %s] %s = %q old %q one=%v more=%v now=%v sure=%v ended=%v past=%v %s %s (%s)", x.Subject.Key, x.Subject.Role, x.Subject.Name, x.Attr, x.Value, x.Old, x.One, x.More, x.Now, x.Sure, x.Ended, x.Past, x.From.Format("060102"), x.Until.Format("060102"), x.Text)
		}
	}
}
