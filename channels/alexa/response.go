package alexa

import (
	"strings"
	"unicode"
)

// response is what Alexa is told to do.
type response struct {
	Version  string `json:"version"`
	Response struct {
		OutputSpeech     *speech   `json:"outputSpeech,omitempty"`
		Reprompt         *reprompt `json:"reprompt,omitempty"`
		ShouldEndSession *bool     `json:"shouldEndSession,omitempty"`
	} `json:"response"`
}

type speech struct {
	Type string `json:"type"`
	SSML string `json:"ssml"`
}

type reprompt struct {
	OutputSpeech speech `json:"outputSpeech"`
}

// maxSpeech is how many characters may be spoken at once, tags and all.
const maxSpeech = 8000

// say speaks, and listens on; then is said when nobody goes on.
func say(text, then string) response {
	on := false
	r := response{Version: "1.0"}
	s := spoken(text)
	r.Response.OutputSpeech, r.Response.Reprompt, r.Response.ShouldEndSession = &s, &reprompt{spoken(then)}, &on
	return r
}

// last speaks, and is done.
func last(text string) response {
	end := true
	r := response{Version: "1.0"}
	s := spoken(text)
	r.Response.OutputSpeech, r.Response.ShouldEndSession = &s, &end
	return r
}

const open, shut = "<speak>", "</speak>"

// escaper escapes what begins a tag or an entity. In a text nothing else means anything.
func escaper() *strings.Replacer { return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;") }

// fits is a text as far as it can be spoken in so many characters, and the rest of it.
func fits(text string, most int) (head, rest string) {
	for i, r := range text {
		switch r {
		case '&':
			most -= len("&amp;")
		case '<', '>':
			most -= len("&lt;")
		default:
			most--
		}
		if most < 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// spoken is a text as speech. It is text alone: no tag of SSML comes out of it.
func spoken(text string) speech {
	var b strings.Builder
	b.WriteString(open)
	n := 0
	for _, r := range strings.ToValidUTF8(text, "") {
		s := string(r)
		switch {
		case r == '\n' || r == '\t':
			s = " "
		case unicode.IsControl(r) || r >= 0xfffe && r <= 0xffff:
			continue
		default:
			s = escaper().Replace(s)
		}
		if n += len([]rune(s)); n > maxSpeech-len(open)-len(shut) {
			break
		}
		b.WriteString(s)
	}
	b.WriteString(shut)
	return speech{"SSML", b.String()}
}
