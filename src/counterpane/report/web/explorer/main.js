// The explorer: a page that starts by itself.
import { start } from "./shell.js";
import "./tools.js";

start();
