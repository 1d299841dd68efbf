package atomicfile

// RemoveKilled is what a program does when it starts.
var RemoveKilled = removeKilled
