// Package shortid creates the ids of items that the user may have to type: tasks, notes, facts and
// watchers. Events and deliveries have other ids, which must be ordered by time (UUIDv7).
package shortid

import (
	"crypto/rand"
)

// alphabet is Crockford's base 32, which omits i, l, o and u
// (https://www.crockford.com/base32.html).
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// length is the number of random characters in an id, which encode 45 bits. Among a million ids,
// the probability of a collision is 1.4 %. The primary key of the table rejects a duplicate id.
const length = 9

// New returns the prefix followed by nine random characters, such as
// "t7k2m9qxa3". It may be called concurrently.
func New(prefix string) string {
	var b [length]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails; see crypto/rand
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return prefix + string(b[:])
}
