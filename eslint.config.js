import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/.venv*/", "build/", "docs/", "**/*.min.js"] },
  js.configs.recommended,
  {
    files: ["src/counterpane/report/web/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "max-lines": ["error", { max: 500, skipBlankLines: true, skipComments: true }],
    },
  },
  { files: ["tests/web/**/*.js"], languageOptions: { globals: globals.node } },
];
