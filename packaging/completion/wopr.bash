# Completion of wopr in bash.  The program answers what there is.
_wopr() {
    local words=() word joined=0 i line kept
    # Bash splits at "=" and ":"; wopr gets whole words.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ${#words[@]} -gt 0 && ( $word == [=:]* || $joined == 1 ) && ${COMP_LINE:0:COMP_POINT} == *"${words[-1]}$word"* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == *[=:] ]] && joined=1 || joined=0
    done
    word=${words[-1]}
    kept=${word%"${word##*[=:]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "${word##*=}") ;;
        :folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "${word##*=}") ;;
        *) line=${line%%$'\t'*}; COMPREPLY+=("${line#"$kept"}") ;;
        esac
    done < <("$1" completion words -- "${words[@]}" 2>/dev/null)
} && complete -F _wopr wopr
