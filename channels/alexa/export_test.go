package alexa

import "time"

// Understand reads a body as Hook does after its proof.
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

// ReadChain reads a chain and its address.
func ReadChain(b []byte, url string) (at string, ok bool) {
	_, _ = parseChain(b, time.Now())
	at, err := chainURL(url)
	return at, err == nil
}
