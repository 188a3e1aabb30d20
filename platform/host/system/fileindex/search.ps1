# Asks the index of Windows Search (learn.microsoft.com, "Querying the Index
# Programmatically"). The query was built by the caller, whose own it is.
function Main($in) {
  $db = New-Object -ComObject ADODB.Connection
  $db.ConnectionTimeout = 5
  $db.CommandTimeout = 8
  try {
    $db.Open('Provider=Search.CollatorDSO;Extended Properties=''Application=Windows'';')
  } catch {
    Refuse 'unsupported' 'Windows Search does not run'
  }
  $paths = @()
  try {
    $rows = $db.Execute($in.sql)
    while ((-not $rows.EOF) -and ($paths.Count -lt 500)) {
      $paths += [string]$rows.Fields.Item('System.ItemPathDisplay').Value
      $rows.MoveNext()
    }
    $rows.Close()
  } finally {
    $db.Close()
  }
  Answer @{ paths = @($paths) }
}
