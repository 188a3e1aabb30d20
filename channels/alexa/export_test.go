package alexa

import "time"

// Understand parses a body in the same way as Hook does after it has verified the signature.
func Understand(b []byte) {
	q, err := parseRequest(b)
	if err != nil {
		return
	}
	if q.checkRequest("amzn1.ask.skill.1", time.Now()) == nil {
		_ = q.userID()
	}
	_, text := q.parseMeaning()
	_ = speakAndListen(text, more)
}

// ReadChain parses a certificate chain and its URL.
func ReadChain(b []byte, url string) (at string, ok bool) {
	_, _ = parseChain(b, time.Now())
	at, err := chainURL(url)
	return at, err == nil
}
