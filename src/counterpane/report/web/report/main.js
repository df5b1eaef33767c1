// The report: its parts are written before the graph above them starts.
import { start } from "../explorer/shell.js";
import "../explorer/tools.js";
import { writeReport } from "./report.js";

writeReport();
start();
