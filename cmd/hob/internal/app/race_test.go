//go:build race

package app

const raceDetector = true
