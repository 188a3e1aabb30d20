package alexa

import (
	"strings"
	"unicode"
)

// response is the response to Alexa.
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

// maxSpeech is the maximum length of speech in characters, including tags.
const maxSpeech = 8000

// speakAndListen speaks text and keeps listening. If the user stays silent, Alexa speaks then as
// the reprompt.
func speakAndListen(text, then string) response {
	on := false
	r := response{Version: "1.0"}
	s := plainSpeech(text)
	r.Response.OutputSpeech, r.Response.Reprompt, r.Response.ShouldEndSession = &s, &reprompt{plainSpeech(then)}, &on
	return r
}

// speakAndEnd speaks text and ends the session.
func speakAndEnd(text string) response {
	end := true
	r := response{Version: "1.0"}
	s := plainSpeech(text)
	r.Response.OutputSpeech, r.Response.ShouldEndSession = &s, &end
	return r
}

const open, shut = "<speak>", "</speak>"

// newSSMLEscaper returns a replacer for the characters that begin a tag or an entity. No other
// characters are special in text.
func newSSMLEscaper() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
}

// splitAtLimit splits text so that head has no more than most spoken characters.
func splitAtLimit(text string, most int) (head, rest string) {
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

// plainSpeech converts text to speech without SSML tags.
func plainSpeech(text string) speech {
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
			s = newSSMLEscaper().Replace(s)
		}
		if n += len([]rune(s)); n > maxSpeech-len(open)-len(shut) {
			break
		}
		b.WriteString(s)
	}
	b.WriteString(shut)
	return speech{"SSML", b.String()}
}
