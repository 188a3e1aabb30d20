package credential_test

import (
	"strings"
	"testing"

	"hob/platform/text/credential"
)

func TestFind(t *testing.T) {
	for text, value := range map[string]string{
		"the wifi password is hunter2":                                          "hunter2",
		"The wifi password is swordfish.":                                       "swordfish",
		"wifi password: correct horse battery staple":                           "correct horse battery staple",
		"Wifi-Password=hunter2":                                                 "hunter2",
		"My bank PIN is 4711":                                                   "4711",
		"PIN 4711 for the bank card":                                            "4711",
		"hunter2 is the password of the router":                                 "hunter2",
		"use `tr0ub4dor` as the wifi password":                                  "tr0ub4dor",
		"the password for the wifi of the cabin in the woods is otter":          "otter",
		"We changed the wifi password to otter77!":                              "otter77",
		"the door code is 1379#":                                                "1379#",
		"The code for the garage is 2580":                                       "2580",
		"code of the alarm: 99871":                                              "99871",
		"api key for the weather: k3y9f8a7b6c5":                                 "k3y9f8a7b6c5",
		"My GitHub token is ghx8d7f6g5h4j3k2":                                   "ghx8d7f6g5h4j3k2",
		"recovery phrase: apple banana cherry date egg fig":                     "apple banana cherry date egg fig",
		"The safe combination is 12-34-56":                                      "12-34-56",
		"login for the NAS: admin/Secret99x":                                    "",
		"Das WLAN-Passwort ist sesam":                                           "sesam",
		"Das WLAN-Passwort lautet Sesam123":                                     "Sesam123",
		"Bankpasswort: geheim7":                                                 "geheim7",
		"Haustürcode 4711":                                                      "4711",
		"Der Code für das Garagentor im Haus ist 4711":                          "4711",
		"PIN der Karte: 1234":                                                   "1234",
		"le mot de passe du wifi est sesame":                                    "sesame",
		"le digicode est 45A78":                                                 "45A78",
		"la contraseña del wifi es sesamo":                                      "sesamo",
		"la password del wifi è sesamo":                                         "sesamo",
		"het wachtwoord van de wifi is sesam":                                   "sesam",
		"a senha do wifi é sesamo":                                              "sesamo",
		"пароль от wifi это sesam9":                                             "sesam9",
		"remember that the wifi password is hunter2 and the printer is in room": "hunter2",
		"password: hunter2":                                                     "hunter2",
		"Netflix\nuser: ada@example.org\npassword: popcorn!":                    "popcorn",
	} {
		found := credential.Find("", text)
		if value == "" {
			continue
		}
		if len(found) != 1 || !strings.HasPrefix(text[found[0].From:found[0].To], value) {
			t.Errorf("%q: found %+v, want %q", text, found, value)
		}
	}
}

func TestFind_NoCredentials(t *testing.T) {
	for _, text := range []string{
		"", "the wifi is slow", "I forgot the wifi password", "What is the wifi password?", "the password is stored in the safe",
		"The password is too short.", "The password is wrong", "password required", "Change the password by Friday", "the zip code is 10115",
		"my postal code is 10115", "The dress code is casual.", "The build failed with exit code 137", "error code 404", "the source code is on GitHub",
		"country code 0049", "the key to success is patience", "The key is under the mat", "la clave es la paciencia", "token of gratitude",
		"PIN is 4 digits", "Das Passwort ist falsch", "Das Passwort muss geändert werden", "mot de passe oublié", "le mot de passe est incorrect",
		"the code is reviewed by Ada", "Ada lives at 12 Main Street", "The meeting is on 2026-11-23 at 17:30", "Call 555 1234",
		"IBAN DE89 3704 0044 0532 0130 00", "the gate is green", "promo code SAVE20", "the combination of both is good", "The password policy was updated",
		"Ada's birthday is 12 March", "the API is down", "our secret ingredient is cinnamon", "Der Code der Anwendung ist fertig",
	} {
		if found := credential.Find("", text); len(found) > 0 {
			t.Errorf("%q: found %+v in %q", text, found, text[found[0].From:found[0].To])
		}
	}
}

func TestShow(t *testing.T) {
	const wifi = "the wifi password is hunter2"
	for _, c := range []struct {
		name, asked, heading, text, want string
	}{
		{"named", "what is the wifi password?", "", wifi, wifi},
		{"in another form", "what's my Wi-Fi Password", "", wifi, wifi},
		{"in German", "wie lautet das WLAN-Passwort?", "", wifi, wifi},
		{"as a login", "what are the credentials for the wifi", "", wifi, wifi},
		{"only the subject", "is the wifi fast?", "", wifi, ""},
		{"only the kind", "tell me a password", "", wifi, ""},
		{"another subject", "what is the bank password?", "", wifi, ""},
		{"another kind", "what is the wifi PIN?", "", wifi, ""},
		{"something else", "what do you know about hunter2?", "", wifi, ""},
		{"nobody asked", "", "", wifi, ""},
		{"no subject", "what is my password?", "", "my password is hunter2", "my password is hunter2"},
		{"the title is the subject", "what is the router password?", "Router", "password: hunter2", "password: hunter2"},
		{"another title", "what is the bank password?", "Router", "password: hunter2", ""},
		{"one of two", "what is the bank PIN?", "", "wifi password: hunter2\nbank PIN: 4711", "wifi password: " + credential.Mark + "\nbank PIN: 4711"},
		{"no credential", "", "", "the wifi is slow", "the wifi is slow"},
		{"a shape", "what is new?", "", "use sk-abcdefghijklmnopqrstuvwx for it", ""},
	} {
		got, ok := credential.AskedBy(c.asked).Show(c.heading, c.text)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got, ok := credential.Everything().Show("", wifi); !ok || got != wifi {
		t.Errorf("Everything.Show = %q, %v", got, ok)
	}
	if _, ok := (credential.Viewer{}).Show("", wifi); ok {
		t.Error("the zero Viewer was shown a credential")
	}
}

// BenchmarkFind measures a hostile document: the time must be linear in its length.
func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("The train leaves at nine and the weather stays fine. ", 2000), "kinds": strings.Repeat("code door ", 10_000),
		"passwords": strings.Repeat("password is ", 10_000), "equals": strings.Repeat("a=", 50_000), "lines": strings.Repeat("pin: 1234\n", 10_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				credential.Find("", text)
			}
		})
	}
}

// TestShow_Twice checks that Show does not change text that Show has returned.
func TestShow_Twice(t *testing.T) {
	v := credential.AskedBy("what is the bank PIN?")
	once, _ := v.Show("", "wifi password: hunter2\nbank PIN: 4711")
	if twice, ok := v.Show("", once); !ok || twice != once {
		t.Errorf("%q, then %q", once, twice)
	}
	if _, ok := (credential.Viewer{}).Show("", "wifi password: "+credential.Mark); !ok {
		t.Error("the mark was detected as a credential")
	}
}

func FuzzShow(f *testing.F) {
	f.Add("", "the wifi password is hunter2", "wifi")
	f.Add("Router", "password: x\nPIN=1234", "bank PIN")
	f.Fuzz(func(t *testing.T, heading, text, asked string) {
		for _, c := range credential.Find(heading, text) {
			if c.From < 0 || c.To > len(text) || c.From >= c.To || c.Kind == 0 {
				t.Errorf("%q: %+v", text, c)
			}
		}
		credential.AskedBy(asked).Show(heading, text)
	})
}

func TestSensitive(t *testing.T) {
	for text, want := range map[string]string{
		"my wifi password is hunter2":                     "a password",
		"the bank PIN is 4711":                            "a code or PIN",
		"my IBAN is DE89 3704 0044 0532 0130 00":          "an IBAN",
		"iban de89370400440532013000 please":              "an IBAN",
		"my card is 4111 1111 1111 1111":                  "a card number",
		"use sk-abcdefghijklmnopqrstuvwx for it":          "an API key",
		"my sister is Anna":                               "",
		"my IBAN is DE89 3704 0044 0532 0130 01":          "",
		"the order number is 4111 1111 1111 1112":         "",
		"I moved to Leeds in 2024":                        "",
		"my locker number is 318":                         "",
		"call +370 612 34567 or write to ada@example.org": "",
	} {
		if got := credential.Sensitive(text); got != want {
			t.Errorf("Sensitive(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestRequestedIn(t *testing.T) {
	for text, want := range map[string]string{
		"Your new password:": "password", "userPassword": "Password", "api_key": "api key", "The code we sent you": "code", "Bitte das Kennwort eingeben": "Kennwort",
		"secret": "secret", "Wie lautet die Bank-PIN?": "Bank-PIN", "recovery phrase": "recovery phrase",
		"postal code": "", "Which city?": "", "country_code": "", "Confirm?": "", "first name": "",
	} {
		if got := credential.RequestedIn(text); got != want {
			t.Errorf("RequestedIn(%q) = %q, want %q", text, got, want)
		}
	}
}
