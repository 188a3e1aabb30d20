# Reads a text aloud (SAPI 5.4, ISpVoice.Speak). 16 is SVSFIsNotXML: nothing in the
# text is an order.
function Main($in) {
  $voice = New-Object -ComObject SAPI.SpVoice
  Commence
  $null = $voice.Speak([string]$in.text, 16)
  Answer @{ done = $true }
}
