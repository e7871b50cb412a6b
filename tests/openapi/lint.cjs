// Redocly's linter with its recommended rules.  usage: node lint.cjs DOCUMENT
// The library is what the command line wraps, at a tenth of its size.
const { createConfig, formatProblems, getTotals, lint } = require('@redocly/openapi-core');

async function main(file) {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lint({ ref: file, config });
  formatProblems(problems, { format: 'codeframe', totals: getTotals(problems), version: 'pinned' });
  process.exitCode = problems.length === 0 ? 0 : 1;
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
