#compdef wopr
# Completion of wopr in zsh.  The program answers what there is.
_wopr() {
    local line word
    local -a known
    for line in "${(@f)$("$words[1]" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case $line in
        '') ;;
        :files) _files ;;
        :folders) _files -/ ;;
        *)
            word=${line%%$'\t'*}
            known+=("${word//:/\\:}${${line#"$word"}/#$'\t'/:}")
            ;;
        esac
    done
    (( $#known )) && _describe wopr known
}
if [ "$funcstack[1]" = "_wopr" ]; then
    _wopr "$@"
elif (( $+functions[compdef] )); then
    compdef _wopr wopr
fi
