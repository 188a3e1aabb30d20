package erase

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

func quoteJSON(s string) string { b, _ := json.Marshal(s); return string(b) }

func wideOf(s string, big bool) string {
	return encodeUTF16(s, big)
}

var encodings = map[string]func(string) string{
	"as it stands":         func(s string) string { return s },
	"upper case":           strings.ToUpper,
	"lower case":           strings.ToLower,
	"decomposed":           norm.NFD.String,
	"composed":             norm.NFC.String,
	"JSON":                 quoteJSON,
	"JSON in JSON":         func(s string) string { return quoteJSON(quoteJSON(s)) },
	"JSON three times":     func(s string) string { return quoteJSON(`{"a":` + quoteJSON(`["`+s+`"]`) + `}`) },
	"JSON of ASCII":        strconv.QuoteToASCII,
	"in a query":           url.QueryEscape,
	"in a path":            url.PathEscape,
	"in a query, twice":    func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"base64":               func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 within":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user: " + s + " and more")) },
	"base64, shifted":      func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("x" + s)) },
	"base64 of UTF-16":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("\xff\xfe" + wideOf(s, false))) },
	"base64 of JSON":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte(quoteJSON(s))) },
	"hexadecimal":          func(s string) string { return hex.EncodeToString([]byte(s)) },
	"hexadecimal, upper":   func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte("0" + s))) },
	"UTF-16":               func(s string) string { return wideOf(s, false) },
	"UTF-16, big first":    func(s string) string { return wideOf(s, true) },
	"broken across a line": func(s string) string { return strings.Replace(s, " ", " \n\t", 1) },
	"quoted-printable":     func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "=", "=3D"), "é", "=C3=A9") },
	"typographic":          func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "-", "–"), "'", "’") },
	"with a soft hyphen":   func(s string) string { return s[:3] + "\u00ad" + s[3:] },
	"HTML":                 func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "&", "&amp;"), "'", "&#39;") },
	"mail of several lines": func(s string) string {
		return breakLines(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 50) + s + strings.Repeat("b", 50))))
	},
}

func breakLines(s string) string {
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76] + "\r\n")
		s = s[76:]
	}
	return b.String() + s
}

func TestScrub_FindsEncodedPhrases(t *testing.T) {
	for _, phrase := range []string{"Kestrel-9981", "Ana's café & bar", "the spare key is under the pot", "ключ под горшком", "鍵は植木鉢の下"} {
		s := NewScrubber(phrase)
		for name, encode := range encodings {
			text := "before " + encode(phrase) + " after"
			out, changed := s.Text(text)
			if !changed {
				t.Errorf("%s: %q was not redacted in %q", phrase, name, text)
				continue
			}
			if s.Has(out) || !strings.HasPrefix(out, "before ") || !strings.HasSuffix(out, "fter") {
				t.Errorf("%s, %s: %q became %q", phrase, name, text, out)
			}
		}
	}
}

func TestScrub_KeepsJSONValid(t *testing.T) {
	s := NewScrubber(`the "blue" pot`, "Kestrel-9981")
	in := `{"a":"in the \"blue\" pot","args":"{\"q\":\"in the \\\"blue\\\" pot\"}","b":[1,{"Kestrel-9981":true}],"c":"\u004bestrel-9981\n"}`
	out, changed := s.Text(in)
	if !changed || !json.Valid([]byte(out)) || s.Has(out) {
		t.Fatal(out)
	}
	var v struct{ Args string }
	if err := json.Unmarshal([]byte(out), &v); err != nil || !json.Valid([]byte(v.Args)) {
		t.Errorf("%v %q", err, v.Args)
	}
}

// Replacing phrases in numbers, literals, keys and escapes keeps JSON valid.
func TestScrub_KeepsJSONValidForAnyPhrase(t *testing.T) {
	in := `{"first":14711,"pin":4711,"of":-47.11e2,"list":[true,null,{"4711":"a 4711"}],"s":"\nabc \u0041bc","raw":"A\\nabc"}`
	for phrase, want := range map[string]string{
		"4711":       `{"first":14711,"pin":0,"of":-47.11e2,"list":[true,null,{"[forgotten]":"a [forgotten]"}],"s":"\nabc \u0041bc","raw":"A\\nabc"}`,
		"47.11e2":    `{"first":14711,"pin":4711,"of":0,"list":[true,null,{"4711":"a 4711"}],"s":"\nabc \u0041bc","raw":"A\\nabc"}`,
		"true,null":  in,
		"[true":      in,
		`"s":"`:      `{"first":14711,"pin":4711,"of":-47.11e2,"list":[true,null,{"4711":"a 4711"}],"[forgotten]":"\nabc \u0041bc","raw":"A\\nabc"}`,
		"first\":14": `{"[forgotten]":0,"pin":4711,"of":-47.11e2,"list":[true,null,{"4711":"a 4711"}],"s":"\nabc \u0041bc","raw":"A\\nabc"}`,
	} {
		out, changed := NewScrubber(phrase).Text(in)
		if out != want || changed != (in != want) {
			t.Errorf("%s:\n%s, want\n%s", phrase, out, want)
		}
	}
	for _, phrase := range []string{"nabc", "u0041", "0041bc", "abc \\", "4711,", "1,\"p"} {
		out, _ := NewScrubber(phrase).Text(in)
		if !json.Valid([]byte(out)) {
			t.Errorf("%s: %s", phrase, out)
		}
	}
	if out, _ := NewScrubber("4711").Text("4711 and 24711, 47110, x4711y"); out != "[forgotten] and 24711, 47110, x[forgotten]y" {
		t.Error(out)
	}
}

func TestScrub_KeepsOtherText(t *testing.T) {
	for phrase, text := range map[string]string{
		"Ana":          "a banana and Anatolia, Anas",
		"Kestrel-9981": "Kestrel 9981, Kestrel-998, Kestrel-9982",
		"":             "anything",
		"forgotten":    "it was [forgotten]",
	} {
		if out, changed := NewScrubber(phrase).Text(text); changed {
			t.Errorf("%s: %q", phrase, out)
		}
	}
	if out, _ := NewScrubber("Ana").Text("Ana met ana."); out != "[forgotten] met [forgotten]." {
		t.Error(out)
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("Kestrel-9981", `{"a":"Kestrel-9981"}`)
	f.Add("é \\u", "%C3%A9 \\u00e9 &eacute; =C3=A9 \xff\x00")
	f.Fuzz(func(t *testing.T, phrase, text string) {
		s := NewScrubber(phrase)
		out, changed := s.Text(text)
		if !changed && out != text {
			t.Error("the text changed but changed is false")
		}
		if strings.ContainsAny(text[:min(1, len(text))], "[{") && json.Valid([]byte(text)) && !json.Valid([]byte(out)) {
			t.Errorf("%q in %q: %q", phrase, text, out)
		}
	})
}

func TestScrub_RandomPositions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var names []string
	for n := range encodings {
		names = append(names, n)
	}
	s := NewScrubber("Kestrel-9981 of Ana")
	for range 300 {
		noise := make([]rune, r.IntN(30))
		for i := range noise {
			noise[i] = []rune("abc éß鍵\\%&=\"\n{}")[r.IntN(15)]
		}
		b := utf16.Encode(noise)
		text := string(noise) + " " + encodings[names[r.IntN(len(names))]]("Kestrel-9981 of Ana") + " " + string(utf16.Decode(b))
		out, changed := s.Text(text)
		if !changed || s.Has(out) {
			t.Fatalf("%q: %q", text, out)
		}
	}
}
